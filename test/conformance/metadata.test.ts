/** Every object that a caller fills as it likes has a largest size, which is told, and holds to the byte. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startPlatform, type TestPlatform, type TestProject } from '../support/platform.ts';
import { eventually, question } from '../support/turns.ts';

let platform: TestPlatform;
let p: TestProject;
let smithId: string;
let nextProject = 1;
before(async () => {
  platform = await startPlatform();
  p = await platform.createProject();
  smithId = await p.createSmith();
});
after(() => platform.close());

/** JSON of so many bytes, in characters of two. */
function metadataOf(bytes: number): Record<string, string> {
  const frame = '{"x":""}'.length;
  return { x: 'é'.repeat(Math.floor((bytes - frame) / 2)) + 'e'.repeat((bytes - frame) % 2) };
}

const KB16 = 16_384;
const KB64 = 65_536;

const places: readonly [name: string, bytes: number, send: (metadata: object) => ReturnType<TestProject['post']>][] = [
  ['a new smith', KB16, (metadata) => p.post('/v1/smiths', { metadata })],
  ['a smith', KB16, (metadata) => p.patch(`/v1/smiths/${smithId}`, { metadata })],
  ['a new customer', KB16, (metadata) => p.post('/v1/customers', { name: 'A', metadata })],
  [
    'a customer',
    KB16,
    async (metadata) => {
      const { body } = await p.post('/v1/customers', { name: 'A' });
      return p.patch(`/v1/customers/${body.id}`, { metadata });
    },
  ],
  [
    'a project',
    KB16,
    (metadata) =>
      platform.organization.post('/v1/organization/projects', { name: `Metadata ${nextProject++}`, metadata }),
  ],
  ['a run', KB16, (metadata) => p.post(`/v1/smiths/${smithId}/runs`, { ...question('Hi'), metadata })],
  [
    'a chat completion',
    KB64,
    (metadata) =>
      p.post(
        '/v1/chat/completions',
        { messages: [{ role: 'user', content: 'Hi' }], metadata },
        { 'ic-smith-id': smithId },
      ),
  ],
  ['a response', KB64, (metadata) => p.post('/v1/responses', { input: 'Hi', metadata }, { 'ic-smith-id': smithId })],
  ['a vector store', KB64, (metadata) => p.post('/v1/vector_stores', { metadata })],
];

describe('metadata is taken up to its largest size, and one byte more is refused', () => {
  for (const [name, bytes, send] of places) {
    test(name, async () => {
      assert.equal(Buffer.byteLength(JSON.stringify(metadataOf(bytes))), bytes);
      const taken = await send(metadataOf(bytes));
      assert.ok(taken.status < 300, taken.text.slice(0, 500));
      const refused = await send(metadataOf(bytes + 1));
      assert.deepEqual([refused.status, refused.body.error.code], [422, 'invalid_request']);
      assert.deepEqual(refused.body.error.param, 'metadata');
      assert.equal(refused.body.error.message, `\`metadata\` must have at most ${bytes} bytes of JSON in UTF-8.`);
    });
  }
});

test('what OpenAI takes as metadata is taken in every script', async () => {
  const pairs = Array.from({ length: 16 }, (_, index) => [`\u{10ffff}${'𝔘'.repeat(62)}${index % 10}`, '𝔘'.repeat(512)]);
  const escaped = Array.from({ length: 16 }, (_, index) => [`${index}`.padStart(64, '\u0001'), '\u0001'.repeat(512)]);
  for (const metadata of [pairs, escaped].map(Object.fromEntries)) {
    for (const path of ['/v1/responses', '/v1/conversations']) {
      const answer = await p.post(
        path,
        { ...(path.endsWith('responses') ? { input: 'Hi' } : {}), metadata },
        { 'ic-smith-id': smithId },
      );
      assert.equal(answer.status, 200, answer.text.slice(0, 300));
    }
  }
});

test('a smith whose metadata is larger from before is read, changed otherwise, and shrunk', async () => {
  const id = await p.createSmith({ metadata: { tier: 'gold' } });
  await platform.db.query({
    text: `
      update smiths set metadata = jsonb_build_object('x', repeat('x', 100000)) where project_id = $1 and id = $2`,
    values: [p.projectId, id],
  });
  await platform.db.query({
    text: `
      update smith_revisions set snapshot = jsonb_set(snapshot, '{metadata,x}', to_jsonb(repeat('x', 100000)))
      where project_id = $1 and smith_id = $2`,
    values: [p.projectId, id],
  });
  assert.equal((await p.get(`/v1/smiths/${id}`)).body.metadata.x.length, 100_000);
  const renamed = await p.patch(`/v1/smiths/${id}`, { display_name: 'Kim' });
  assert.deepEqual([renamed.status, renamed.body.metadata.x.length], [200, 100_000]);
  assert.equal((await p.post(`/v1/smiths/${id}/runs`, question('Hi'))).status, 201);
  assert.deepEqual((await p.patch(`/v1/smiths/${id}`, { metadata: { tier: 'gold' } })).body.metadata, { tier: 'gold' });
  const restored = await p.post(`/v1/smiths/${id}/revisions/1/restore`, {});
  assert.deepEqual(
    [restored.status, restored.body.error.code, restored.body.error.param],
    [422, 'invalid_request', 'metadata'],
  );
  assert.match(restored.body.error.message, /16384 bytes/);
});

describe('instructions', () => {
  const LARGEST = 262_144;

  test('are rendered up to their largest size; one byte more refuses the turn, and is not shown', async () => {
    const metadata = { x: 'x'.repeat(16_000) };
    const filled = (more: number) => `${'{{x}}'.repeat(16)}${'y'.repeat(LARGEST - 16 * 16_000 + more)}`;
    const id = await p.createSmith({ metadata, instructions: filled(0) });
    assert.equal((await p.get(`/v1/smiths/${id}`)).body.rendered_instructions.length, LARGEST);
    assert.equal((await p.post(`/v1/smiths/${id}/runs`, question('Hi'))).status, 201);
    const patched = await p.patch(`/v1/smiths/${id}`, { instructions: filled(1) });
    assert.deepEqual([patched.status, patched.body.rendered_instructions], [200, null]);
    for (const [path, body] of [
      [`/v1/smiths/${id}/runs`, question('Hi')],
      ['/v1/responses', { input: 'Hi' }],
    ] as const) {
      const refused = await p.post(path, body, { 'ic-smith-id': id });
      assert.deepEqual([refused.status, refused.body.error.code], [422, 'invalid_variables']);
      assert.match(refused.body.error.message, /have 262145 bytes .* at most 262144/);
    }
    await eventually(async () => (await p.get(`/v1/smiths/${id}/runs`)).body.data.length === 1 || undefined, 'one run');
  });

  test('are saved up to their largest size in UTF-8, by smiths and by agents', async () => {
    for (const [path, body] of [
      ['/v1/smiths', {}],
      ['/v1/agents', { name: 'A' }],
    ] as const) {
      const save = (more: string) => p.post(path, { ...body, instructions: 'é'.repeat(LARGEST / 2) + more });
      assert.equal((await save('')).status, 201);
      const refused = await save('e');
      assert.deepEqual(
        [refused.status, refused.body.error.code, refused.body.error.param],
        [422, 'invalid_request', 'instructions'],
      );
      assert.match(refused.body.error.message, /262144 bytes/);
    }
  });
});
