/**
 * Where the contract lets a member of a body be null, null does what its absence does, or clears. The members are those of
 * nullable-members.tsv, which the contract's tables were copied into; each is sent to every operation that takes its schema.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { componentOf } from '../../src/kernel/http/schema.ts';
import { startPlatform } from '../support/platform.ts';
import { createWorld, fillPath, pathIn, slotsOf, uniqueName, uploadFile } from './world.ts';

const platform = await startPlatform();
after(() => platform.close());
const world = await createWorld(platform);
const { tenant, organization, smithId } = world;

type Body = Record<string, unknown>;
type Row = readonly [schema: string, member: string];

const rows = readFileSync(new URL('nullable-members.tsv', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split('\t') as unknown as Row);

const chunking = { type: 'static', static: { max_chunk_size_tokens: 400, chunk_overlap_tokens: 0 } };
const say = [{ role: 'user', content: 'Write 2 words' }];

/** What the schema takes beside the member, with the member where it must be there: nested ones, and one of two. */
const bodies: Readonly<Record<string, (member: string) => Body | Promise<Body>>> = {
  ProjectIn: () => ({ name: uniqueName() }),
  ProjectTokenIn: () => ({}),
  CustomerPatch: () => ({}),
  DeploymentIn: () => ({ target: { type: 'agent', id: world.agentId }, kind: 'web' }),
  DeploymentPatch: () => ({}),
  BudgetIn: () => ({ scope: 'tenant', period: 'total', limit: 1 }),
  BudgetPatch: () => ({}),
  ConversationCreate: () => ({ user: world.smithUser }),
  ConversationUpdate: () => ({}),
  AgentIn: (member) => ({ name: uniqueName(), ...(member.startsWith('variables.') ? aVariable() : {}) }),
  AgentPatch: (member) => (member.startsWith('variables.') ? aVariable() : {}),
  PublishIn: () => ({}),
  AttachIn: () => ({ all: true }),
  SmithCreate: () => ({}),
  SmithPatch: () => ({}),
  RestoreIn: () => ({}),
  McpServerIn: (member) =>
    member === 'url'
      ? { catalog: 'example' }
      : { url: 'https://example.com/mcp', auth: {}, approval_policy: [{ match: '*' }] },
  ModelKeyIn: () => ({ api_key: 'sk-conformance' }),
  RunIn: () => ({ input: say }),
  RunReplayIn: () => ({}),
  // What takes one of two tokens has the other.
  ConnectionIn: () => ({ provider: 'github', credential: aCredential() }),
  ConnectionPatch: (member) => (member.startsWith('credential.') ? { credential: aCredential() } : {}),
  AuthorizeIn: () => ({ provider: 'github' }),
  ScheduleIn: () => ({ cron: '0 0 1 1 *' }),
  SchedulePatch: () => ({}),
  ReloadIn: () => ({}),
  // Filled in by `send`, for the run that waits.
  Submit: () => ({}),
  VectorStoreIn: () => ({}),
  VectorStorePatch: () => ({}),
  VectorStoreFileIn: async () => ({ file_id: await uploadFile(tenant) }),
  VectorStoreFileUpdate: () => ({}),
  VectorStoreFileBatchIn: async (member) => {
    const file_id = await uploadFile(tenant);
    if (member === 'file_ids') return { files: [{ file_id }] };
    return member.startsWith('files.')
      ? { files: [{ file_id, attributes: { a: 1 }, chunking_strategy: chunking }] }
      : { file_ids: [file_id] };
  },
};

const takers = platform.platform.operations.flatMap((operation) => {
  const schema = operation.body === undefined ? undefined : componentOf(operation.body)?.name;
  return schema === undefined ? [] : [{ operation, schema }];
});

test('every schema of the table is taken by an operation', () => {
  const taken = new Set(takers.map(({ schema }) => schema));
  const missing = [...new Set(rows.map(([schema]) => schema))].filter((schema) => !taken.has(schema));
  assert.deepEqual(missing, []);
});

for (const [schema, member] of rows) {
  describe(`${schema}, ${member}`, () => {
    for (const { operation } of takers.filter((taker) => taker.schema === schema)) {
      test(`null is taken by ${operation.id}`, async () => {
        const make = bodies[schema];
        assert.ok(make, `say in this test what ${schema} takes beside ${member}`);
        const caller = operation.posture === 'org' ? organization : tenant;
        const { path, body } =
          schema === 'Submit'
            ? await pauseRun(member)
            : { path: await pathFor(operation.id, operation.path), body: await make(member) };
        const sent = withNull(body, member.split('.'));
        const answer = await caller.open(operation.method, path, sent);
        const text = await answer.text();
        assert.ok(answer.status < 300, `${JSON.stringify(sent)}: ${text}`);
      });
    }
  });
}

/** The path of an object that takes the change: a smith that follows an agent is pinned, patched and left alone. */
async function pathFor(id: string, path: string): Promise<string> {
  if (id === 'agents.attach') {
    const agent = await tenant.post('/v1/agents', { name: uniqueName(), model: 'builtin/demo' });
    await tenant.post(`/v1/agents/${agent.body.id}/versions`, {});
    return fillPath(path, [agent.body.id]);
  }
  if (slotsOf(path).some(({ name }) => name === 'pid')) return fillPath(path, [world.projectId]);
  return pathIn(path, world);
}

/** A run that waits, and what it is answered with when `member` is null: by its other name, where it has two. */
async function pauseRun(member: string): Promise<{ path: string; body: Body }> {
  const isResult = member === 'approval_id' || member === 'decision' || member === 'content';
  const tools = [{ name: 'notify', requires_approval: !isResult }];
  const input = [{ role: 'user', content: 'Call the tool notify with {"to": "Ada"}' }];
  const { body: run, text } = await tenant.post(`/v1/smiths/${smithId}/runs`, { input, tools });
  assert.equal(run.status, 'paused', text);
  const [call] = run.output.tool_calls;
  const path = `/v1/smiths/${smithId}/runs/${run.id}/submit`;
  if (isResult) return { path, body: { kind: 'tool_result', tool_call_id: call.id, result: { ok: true } } };
  return { path, body: { kind: 'approval', approval_id: call.approval_id, decision: 'reject' } };
}

function aCredential(): Body {
  return { kind: 'oauth2', access_token: 'a-token', refresh_token: 'another' };
}

function aVariable(): Body {
  return { variables: [{ name: 'tone', default: 'warmly', description: 'How to sound' }] };
}

/** A copy of the body with null there; of a list, in each of its objects. */
function withNull(body: Body, [name = '', ...rest]: readonly string[]): Body {
  if (rest.length === 0) return { ...body, [name]: null };
  const inner = body[name];
  return {
    ...body,
    [name]: Array.isArray(inner) ? inner.map((one) => withNull(one, rest)) : withNull(inner as Body, rest),
  };
}
