import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { AgentDraft, SmithConfig } from '../tables.ts';
import { CONFIG_KEYS, DEFAULT_CONFIG, effectiveConfig, inheritedConfig, pickSet, setKeys } from './effective-config.ts';

const names = fc.array(fc.string({ minLength: 1, maxLength: 8 }), { maxLength: 4 });
const skill = fc.record(
  { skill_id: fc.string({ minLength: 1 }), version: fc.integer({ min: 1 }) },
  { requiredKeys: ['skill_id'], noNullPrototype: true },
);
const skills = fc.array(skill, { maxLength: 3 });

const settings = {
  model: fc.constantFrom('builtin/demo', 'openai/gpt-4o', 'anthropic/claude'),
  instructions: fc.string(),
  enabled_hosted_tools: names,
  vector_store_ids: names,
  mcp_servers: names,
  skills,
  auto_memory: fc.boolean(),
  memory_consolidation: fc.boolean(),
};

/** What a smith may set: any of the keys. */
const own: fc.Arbitrary<Partial<SmithConfig>> = fc.record(settings, { requiredKeys: [], noNullPrototype: true });

const snapshot: fc.Arbitrary<AgentDraft> = fc.record(
  {
    model: fc.option(settings.model),
    instructions: fc.option(settings.instructions),
    enabled_hosted_tools: names,
    vector_store_ids: names,
    mcp_servers: fc.option(names),
    skills,
    auto_memory: fc.option(fc.boolean()),
    memory_consolidation: fc.option(fc.boolean()),
    variables: fc.constant([]),
    ui_resources: fc.constant([]),
  },
  { noNullPrototype: true },
);

test('every key comes from the smith if it sets it, else from its agent, else from the defaults', () => {
  fc.assert(
    fc.property(own, fc.option(snapshot), (config, agent) => {
      const effective = effectiveConfig(config, agent);
      for (const key of CONFIG_KEYS) {
        assert.deepEqual(effective[key], config[key] ?? agent?.[key] ?? DEFAULT_CONFIG[key], key);
      }
    }),
  );
});

test('a configuration has the keys of the contract and no other', () => {
  fc.assert(
    fc.property(own, fc.option(snapshot), (config, agent) => {
      assert.deepEqual(Object.keys(effectiveConfig(config, agent)).sort(), [...CONFIG_KEYS].sort());
    }),
  );
});

test('a smith that sets nothing runs what its agent gives, and setting that again changes nothing', () => {
  fc.assert(
    fc.property(snapshot, (agent) => {
      const inherited = inheritedConfig(agent);
      assert.deepEqual(effectiveConfig({}, agent), inherited);
      assert.deepEqual(effectiveConfig(pickSet(inherited), agent), inherited);
    }),
  );
});

test('only set keys count: false, empty texts and empty lists are set, null is not', () => {
  const given = { model: null, instructions: '', enabled_hosted_tools: [], auto_memory: false, mcp_servers: null };
  assert.deepEqual(setKeys(given), ['instructions', 'enabled_hosted_tools', 'auto_memory']);
  assert.deepEqual(pickSet(given), { instructions: '', enabled_hosted_tools: [], auto_memory: false });
});

test('what is picked is exactly what is set', () => {
  fc.assert(
    fc.property(own, (config) => {
      assert.deepEqual(pickSet(config), config);
      assert.deepEqual(new Set(setKeys(config)), new Set(Object.keys(config)));
    }),
  );
});

test('members that are no setting are left out', () => {
  const body = { model: 'builtin/demo', external_id: 'x', metadata: {}, agent_id: null };
  assert.deepEqual(pickSet(body), { model: 'builtin/demo' });
});

test('the layers are not changed by laying them over each other', () => {
  fc.assert(
    fc.property(own, snapshot, (config, agent) => {
      const before = structuredClone([config, agent, DEFAULT_CONFIG]);
      effectiveConfig(config, agent);
      assert.deepEqual([config, agent, DEFAULT_CONFIG], before);
    }),
  );
});
