import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createVectorStore, publishAgent, publishVersion, readEvents } from '../../../../test/support/agents.ts';
import { startLately } from '../../../../test/support/lately.ts';
import { startPlatform } from '../../../../test/support/platform.ts';
import { uploadSkill } from '../../../../test/support/skills.ts';

const isLately = startLately();

const platform = await startPlatform();
after(() => platform.close());

test('a new smith has every field, and nothing of its own is custom over the defaults', async () => {
  const project = await platform.createProject();
  const created = await project.post('/v1/smiths', {});
  assert.equal(created.status, 201);
  const { id, created_at, ...rest } = created.body;
  assert.match(id, /^smt_/);
  assert.ok(isLately(created_at));
  assert.deepEqual(rest, {
    external_id: null,
    display_name: null,
    locale: null,
    timezone: null,
    customer_id: null,
    metadata: {},
    model: 'builtin/demo',
    instructions: '',
    enabled_hosted_tools: [],
    vector_store_ids: [],
    mcp_servers: null,
    skills: [],
    auto_memory: false,
    memory_consolidation: false,
    rendered_instructions: '',
    config_source: 'custom',
    agent_id: null,
    agent_version: null,
    pin: null,
    override_keys: [],
    inherited: null,
  });
  assert.deepEqual((await project.get(`/v1/smiths/${id}`)).body, created.body);
});

test('a smith keeps everything that it is given', async () => {
  const project = await platform.createProject();
  const { body: customer } = await project.post('/v1/customers', { name: 'Acme' });
  const given = {
    external_id: 'user-1',
    display_name: 'Ann',
    locale: 'pt-BR',
    timezone: 'America/Sao_Paulo',
    customer_id: customer.id,
    metadata: { plan: 'pro', seats: 3, nested: { deep: [1, null] } },
    model: 'builtin/demo',
    instructions: 'Plan: {{plan}}, {{seats}} seats.',
    enabled_hosted_tools: ['current_time'],
    vector_store_ids: [await createVectorStore(project)],
    mcp_servers: [],
    skills: [{ skill_id: await uploadSkill(project), version: 1 }, { skill_id: await uploadSkill(project) }],
    auto_memory: true,
    memory_consolidation: true,
  };
  const { body } = await project.post('/v1/smiths', given);
  assert.deepEqual(Object.fromEntries(Object.keys(given).map((key) => [key, body[key]])), given);
  assert.equal(body.rendered_instructions, 'Plan: pro, 3 seats.');
  assert.deepEqual([body.config_source, body.override_keys], ['custom', []]);
  const [event] = await readEvents(project, 'smith.created');
  assert.equal(event?.smith_id, body.id);
  assert.deepEqual(event?.data, {
    smith_id: body.id,
    agent_id: null,
    external_id: 'user-1',
    customer_id: customer.id,
  });
  assert.equal((await project.get(`/v1/customers/${customer.id}`)).body.smith_count, 1);
});

test('a smith runs its agent’s configuration, or its own over it', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project, { instructions: 'Be kind.', auto_memory: true });
  const plain = (await project.post('/v1/smiths', { agent_id: agent })).body;
  assert.deepEqual(
    [plain.config_source, plain.agent_id, plain.agent_version, plain.instructions, plain.auto_memory],
    ['agent', agent, 1, 'Be kind.', true],
  );
  const inherited = {
    model: 'builtin/demo',
    instructions: 'Be kind.',
    enabled_hosted_tools: [],
    vector_store_ids: [],
    mcp_servers: null,
    skills: [],
    auto_memory: true,
    memory_consolidation: false,
  };
  assert.deepEqual([plain.override_keys, plain.inherited], [[], inherited]);

  const own = { agent_id: agent, instructions: 'Be brief.', auto_memory: false, model: null };
  const overriding = (await project.post('/v1/smiths', own)).body;
  assert.deepEqual(
    [overriding.config_source, overriding.instructions, overriding.auto_memory],
    ['override', 'Be brief.', false],
  );
  assert.deepEqual([overriding.override_keys, overriding.inherited], [['instructions', 'auto_memory'], inherited]);
  assert.equal((await project.get(`/v1/agents/${agent}`)).body.smith_count, 2);
});

test('instructions are rendered from metadata and defaults; null while a required variable has no value', async () => {
  const project = await platform.createProject();
  const variables = [{ name: 'name', required: true }, { name: 'tone', default: 'warmly' }, { name: 'rest' }];
  const agent = await publishAgent(project, { instructions: 'Greet {{name}} {{ tone }}{{rest}}.', variables });
  const { body: ann } = await project.post('/v1/smiths', { agent_id: agent, metadata: { name: 'Ann' } });
  assert.equal(ann.rendered_instructions, 'Greet Ann warmly.');
  assert.equal(ann.instructions, 'Greet {{name}} {{ tone }}{{rest}}.');
  const { body: nobody } = await project.post('/v1/smiths', { agent_id: agent });
  assert.equal(nobody.rendered_instructions, null);
  const { body: named } = await project.patch(`/v1/smiths/${nobody.id}`, { metadata: { name: 'Bo', tone: 'briefly' } });
  assert.equal(named.rendered_instructions, 'Greet Bo briefly.');
});

test('provisioning again returns the live smith, unchanged and without an event', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project);
  const first = await project.post('/v1/smiths', { external_id: 'u', agent_id: agent, display_name: 'Ann' });
  const again = await project.post('/v1/smiths', {
    external_id: 'u',
    agent_id: agent,
    display_name: 'Bo',
    customer_id: 'cus_none',
    pin: 99,
  });
  assert.deepEqual([first.status, again.status], [201, 200]);
  assert.deepEqual(again.body, first.body);
  assert.equal((await readEvents(project, 'smith.created')).length, 1);
  assert.equal((await project.get(`/v1/smiths/${first.body.id}/revisions`)).body.data.length, 1);
  assert.equal((await project.get(`/v1/agents/${agent}`)).body.smith_count, 1);
});

test('the same external id on another agent, on none, or in another project is another smith', async () => {
  const project = await platform.createProject();
  const stranger = await platform.createProject();
  const answers = [
    await project.post('/v1/smiths', { external_id: 'u' }),
    await project.post('/v1/smiths', { external_id: 'u', agent_id: await publishAgent(project) }),
    await project.post('/v1/smiths', { external_id: 'u', agent_id: await publishAgent(project) }),
    await stranger.post('/v1/smiths', { external_id: 'u' }),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 201, 201, 201],
  );
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, 4);
  // Without an external id every create is a new smith.
  assert.deepEqual(
    [(await project.post('/v1/smiths', {})).status, (await project.post('/v1/smiths', {})).status],
    [201, 201],
  );
});

test('without an agent, the smith is the one that the external id has, wherever it is', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project);
  const { body: first } = await project.post('/v1/smiths', { external_id: 'q', agent_id: agent });
  for (const body of [{}, { agent_id: null }, { model: 'builtin/demo', display_name: 'Ann' }]) {
    const again = await project.post('/v1/smiths', { external_id: 'q', ...body });
    assert.deepEqual([again.status, again.body], [200, first], again.text);
  }
  const answer = await project.post('/v1/responses', { user: 'q', input: 'Write 2 words' });
  assert.equal(answer.status, 200, answer.text);

  const { body: second } = await project.post('/v1/smiths', {
    external_id: 'q',
    agent_id: await publishAgent(project),
  });
  assert.notEqual(second.id, first.id);
  const ambiguous = await project.post('/v1/smiths', { external_id: 'q' });
  assert.deepEqual(
    [ambiguous.status, ambiguous.body.error.code, ambiguous.body.error.param],
    [409, 'smith_exists', 'agent_id'],
  );
  assert.equal((await project.delete(`/v1/smiths/${first.id}`)).status, 204);
  const left = await project.post('/v1/smiths', { external_id: 'q' });
  assert.deepEqual([left.status, left.body.id], [200, second.id]);
});

test('creates with and without the agent that race leave one smith, or the agentless one beside it', async () => {
  const project = await platform.createProject();
  const agent = await publishAgent(project);
  for (let round = 0; round < 10; round++) {
    const external_id = `r${round}`;
    const [onAgent, plain] = await Promise.all([
      project.post('/v1/smiths', { external_id, agent_id: agent }),
      project.post('/v1/smiths', { external_id }),
    ]);
    assert.equal(onAgent.status, 201, onAgent.text);
    // The plain one came first and has no agent, or it came second and found the other.
    if (plain.status === 201) assert.equal(plain.body.agent_id, null, plain.text);
    else assert.deepEqual([plain.status, plain.body.id], [200, onAgent.body.id], plain.text);
  }
});

for (const onAgent of [true, false]) {
  test(`a hundred creates at once give one smith and one event, ${onAgent ? 'on an agent' : 'on none'}`, async () => {
    const project = await platform.createProject();
    const agent = onAgent ? await publishAgent(project) : null;
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => project.post('/v1/smiths', { external_id: 'u', agent_id: agent })),
    );
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [...Array.from({ length: 99 }, () => 200), 201]);
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    assert.equal((await readEvents(project, 'smith.created')).length, 1);
    assert.equal((await project.get('/v1/smiths')).body.data.length, 1);
    if (agent !== null) assert.equal((await project.get(`/v1/agents/${agent}`)).body.smith_count, 1);
  });
}

test('creates with one Idempotency-Key answer alike', async () => {
  const project = await platform.createProject();
  const key = { 'idempotency-key': 'k1' };
  const first = await project.post('/v1/smiths', { display_name: 'Ann' }, key);
  const replay = await project.post('/v1/smiths', { display_name: 'Ann' }, key);
  assert.deepEqual([first.status, replay.status], [201, 201]);
  assert.equal(replay.text, first.text);
  assert.equal((await project.get('/v1/smiths')).body.data.length, 1);
});

test('a smith without any setting follows the default agent once that is published', async () => {
  const project = await platform.createProject();
  const { body: agent } = await project.post('/v1/agents', { name: 'D', slug: 'default', instructions: 'Hello.' });
  const early = (await project.post('/v1/smiths', { external_id: 'early' })).body;
  assert.equal(early.config_source, 'custom');
  await publishVersion(project, agent.id);

  const later = (await project.post('/v1/smiths', { external_id: 'later', metadata: { a: 1 } })).body;
  assert.deepEqual([later.config_source, later.agent_id, later.instructions], ['agent', agent.id, 'Hello.']);
  const own = (await project.post('/v1/smiths', { external_id: 'own', auto_memory: false })).body;
  assert.deepEqual([own.config_source, own.agent_id], ['custom', null]);

  const repeated = await project.post('/v1/smiths', { external_id: 'later' });
  assert.deepEqual([repeated.status, repeated.body.id], [200, later.id]);
  const stillEarly = await project.post('/v1/smiths', { external_id: 'early' });
  assert.deepEqual([stillEarly.status, stillEarly.body], [200, early]);
});

test('what a smith refers to must exist', async () => {
  const project = await platform.createProject();
  const stranger = await platform.createProject();
  const agent = await publishAgent(project);
  const { body: draft } = await project.post('/v1/agents', { name: 'Draft', model: 'builtin/demo' });
  const archived = await publishAgent(project);
  await project.delete(`/v1/agents/${archived}`);
  const foreignAgent = await publishAgent(stranger);
  const foreignCustomer = (await stranger.post('/v1/customers', { name: 'Theirs' })).body.id;
  const cases: [Record<string, unknown>, number, string, string | null][] = [
    [{ agent_id: 'agt_none' }, 404, 'not_found', 'agent_id'],
    [{ agent_id: foreignAgent }, 404, 'not_found', 'agent_id'],
    [{ agent_id: archived }, 404, 'not_found', 'agent_id'],
    [{ agent_id: draft.id }, 409, 'agent_unpublished', 'agent_id'],
    [{ agent_id: agent, pin: 2 }, 404, 'not_found', 'pin'],
    [{ pin: 1 }, 422, 'invalid_request', 'pin'],
    [{ customer_id: 'cus_none' }, 404, 'not_found', 'customer_id'],
    [{ customer_id: foreignCustomer }, 404, 'not_found', 'customer_id'],
  ];
  for (const [body, status, code, param] of cases) {
    const answer = await project.post('/v1/smiths', { external_id: 'u', ...body });
    const { error } = answer.body;
    assert.deepEqual([answer.status, error.code, error.param], [status, code, param], JSON.stringify(body));
  }
  assert.deepEqual((await project.get('/v1/smiths')).body.data, []);
  assert.equal((await project.get(`/v1/agents/${agent}`)).body.smith_count, 0);
});

test('input that is not valid is refused with its own code', async () => {
  const project = await platform.createProject();
  const manyMembers = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`m${n}`, n]));
  const cases: [Record<string, unknown>, string, string][] = [
    [{ timezone: 'Mars/Olympus' }, 'invalid_timezone', 'timezone'],
    [{ timezone: '+02:00' }, 'invalid_timezone', 'timezone'],
    [{ timezone: 7 }, 'invalid_timezone', 'timezone'],
    [{ locale: 'en_US' }, 'invalid_request', 'locale'],
    [{ locale: 'x' }, 'invalid_request', 'locale'],
    [{ metadata: [] }, 'invalid_request', 'metadata'],
    [{ metadata: manyMembers }, 'invalid_request', 'metadata'],
    [{ external_id: '' }, 'invalid_request', 'external_id'],
    [{ external_id: 'x'.repeat(256) }, 'invalid_request', 'external_id'],
    [{ display_name: '' }, 'invalid_request', 'display_name'],
    [{ pin: 0 }, 'invalid_request', 'pin'],
    [{ pin: 2 ** 31 }, 'invalid_request', 'pin'],
    [{ model: 'builtin/other' }, 'invalid_request', 'model'],
    [{ enabled_hosted_tools: ['teleport'] }, 'invalid_request', 'enabled_hosted_tools'],
    [{ skills: [{ skill_id: 'a' }, { skill_id: 'a' }] }, 'invalid_request', 'skills'],
    [{ colour: 'red' }, 'invalid_request', 'colour'],
    [{ variables: [] }, 'invalid_request', 'variables'],
  ];
  for (const [body, code, param] of cases) {
    const { status, body: answer } = await project.post('/v1/smiths', body);
    assert.deepEqual([status, answer.error.code, answer.error.param], [422, code, param], JSON.stringify(body));
  }
  for (const timezone of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5']) {
    assert.equal((await project.post('/v1/smiths', { timezone, locale: 'zh-Hant-TW' })).status, 201, timezone);
  }
});

test('text that a database finds hard comes back, or is refused, but never fails', async () => {
  const project = await platform.createProject();
  for (const external_id of ['\u0000', "'; drop table smiths; --", '%_\\', '𝒳', '\ud800', ' ']) {
    const created = await project.post('/v1/smiths', { external_id, metadata: { [external_id]: external_id } });
    assert.equal(created.status, 201, JSON.stringify(external_id));
    const again = await project.post('/v1/smiths', { external_id });
    assert.deepEqual([again.status, again.body.id], [200, created.body.id], JSON.stringify(external_id));
    await project.delete(`/v1/smiths/${created.body.id}`);
  }
});
