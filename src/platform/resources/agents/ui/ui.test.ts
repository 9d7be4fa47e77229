/** UI resources of agents: what is taken, kept, shown, frozen by versions, offered to turns, and removed. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { assertRefusal } from '../../../../../test/conformance/assert-refusal.ts';
import { missingId } from '../../../../../test/conformance/world.ts';
import { publishVersion, readEvents } from '../../../../../test/support/agents.ts';
import {
  type Answer,
  PROJECT_STORAGE_BYTES,
  startPlatform,
  type TestPlatform,
  type TestProject,
} from '../../../../../test/support/platform.ts';
import { openTestLogger } from '../../../../../test/support/test-log.ts';
import { reconcileStorage } from '../../../maintenance/reconcile-storage.ts';
import { sweepOrphanedBlobs } from '../../../maintenance/sweep-orphaned-blobs.ts';
import { MAX_TOOL_BYTES } from './schema.ts';
import { MAX_BUNDLE_BYTES } from './store-bundle.ts';
import { sweepUiBundles } from './sweep-bundles.ts';
import { MAX_RESOURCES, MAX_RESOURCES_BYTES } from './upload-ui.ts';

const NEVER = new AbortController().signal;
const logger = openTestLogger();
const PAGE = '<!doctype html><title>Card</title><h1>Card</h1>';

let platform: TestPlatform;
let project: TestProject;
let agentId: string;
before(async () => {
  platform = await startPlatform();
  project = await platform.createProject();
  agentId = await makeAgent(project);
});
after(() => platform.close());

async function makeAgent(owner: TestProject): Promise<string> {
  const answer = await owner.post('/v1/agents', { name: 'A', model: 'builtin/demo' });
  assert.equal(answer.status, 201, answer.text);
  return answer.body.id;
}

type Fields = Readonly<Record<string, unknown>>;

function formOf(fields: Fields, content: string | Uint8Array = PAGE): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    form.set(name, name === 'name' || typeof value === 'string' ? String(value) : JSON.stringify(value));
  }
  form.set('file', new Blob([content as string | Uint8Array<ArrayBuffer>], { type: 'text/html' }), 'card.html');
  return form;
}

function send(fields: Fields, content?: string | Uint8Array, [owner, id] = [project, agentId]): Promise<Answer> {
  return owner.post(`/v1/agents/${id}/ui`, formOf(fields, content));
}

async function upload(...[fields, content, place]: Parameters<typeof send>): Promise<Answer['body']> {
  const answer = await send(fields, content, place);
  assert.ok(answer.status === 201 || answer.status === 200, answer.text);
  return answer.body;
}

const hashOf = (content: string) => createHash('sha256').update(content).digest('hex');
const usedBytes = async (owner: TestProject) => (await owner.get('/v1/tenant/storage')).body.used_bytes as number;

/** The blobs that the project's rows and notes account for. */
async function listBlobs(owner: TestProject): Promise<string[]> {
  const { rows } = await platform.db.query<{ key: string }>({
    text: `select project_id || '/' || blob_id as key from ui_bundles where project_id = $1
      union all select blob_key from unclaimed_blobs where project_id = $1`,
    values: [owner.projectId],
  });
  return rows.map(({ key }) => key);
}

async function settled(owner: TestProject): Promise<string[]> {
  for (let look = 0; look < 200; look += 1) {
    const { rows } = await platform.db.query({
      text: 'select from unclaimed_blobs where project_id = $1',
      values: [owner.projectId],
    });
    if (rows.length === 0) break;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return listBlobs(owner);
}

describe('an upload', () => {
  test('puts the document with all that it says into the draft', async () => {
    const tool = {
      description: 'Shows a card.',
      input_schema: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] },
      instruction: 'Say that the card is shown.',
      mutating: true,
      visibility: ['model'],
    };
    const csp = { connectDomains: ['https://api.example.com', 'wss://*.example.com:8443'], frameDomains: [] };
    const answer = await send({
      name: 'full',
      csp,
      permissions: { camera: {} },
      prefers_border: true,
      domain: 'cards.example.com',
      tool,
    });
    const expected = {
      name: 'full',
      content_hash: hashOf(PAGE),
      csp: { resourceDomains: [], baseUriDomains: [], ...csp },
      permissions: { camera: {} },
      prefers_border: true,
      domain: 'cards.example.com',
      tool,
    };
    assert.deepEqual([answer.status, answer.body], [201, expected], answer.text);
    assert.deepEqual((await project.get(`/v1/agents/${agentId}/ui/full`)).body, expected);
    assert.deepEqual((await project.get(`/v1/agents/${agentId}/ui`)).body, { data: [expected] });
    assert.deepEqual((await project.get(`/v1/agents/${agentId}`)).body.draft.ui_resources, [expected]);
    const [event] = (await readEvents(project, 'agent.updated')).slice(-1);
    assert.deepEqual(event?.data, { agent_id: agentId, changed: ['ui_resources'] });
    assert.equal((await project.delete(`/v1/agents/${agentId}/ui/full`)).status, 204);
    assert.deepEqual((await project.get(`/v1/agents/${agentId}/ui`)).body, { data: [] });
    assert.equal((await readEvents(project, 'agent.updated')).length, 2);
  });

  test('of a name that the draft has replaces it, with all members, in its place', async () => {
    const id = await makeAgent(project);
    const place: [TestProject, string] = [project, id];
    await upload({ name: 'a', domain: '"a.example"', tool: { description: 'A' } }, PAGE, place);
    await upload({ name: 'b' }, PAGE, place);
    const again = await send({ name: 'a' }, `${PAGE}2`, place);
    assert.equal(again.status, 200, again.text);
    assert.deepEqual([again.body.tool, again.body.domain, again.body.content_hash], [null, null, hashOf(`${PAGE}2`)]);
    const { data } = (await project.get(`/v1/agents/${id}/ui`)).body;
    assert.deepEqual(
      data.map(({ name }: { name: string }) => name),
      ['a', 'b'],
    );
    const events = await readEvents(project, 'agent.updated');
    await upload({ name: 'a' }, `${PAGE}2`, place);
    assert.equal(
      (await readEvents(project, 'agent.updated')).length,
      events.length,
      'what changes nothing is no event',
    );
  });

  test('takes null, and what a client leaves empty or writes as it likes', async () => {
    const nulls = { csp: null, permissions: null, prefers_border: null, domain: null, tool: null };
    const { body } = await send({ name: 'nulls', ...nulls });
    assert.deepEqual(body, { name: 'nulls', content_hash: hashOf(PAGE), ...nulls });
    const tool = (await upload({ name: 'nulls', tool: { description: 'D', instruction: null } })).tool;
    assert.deepEqual(tool, {
      description: 'D',
      input_schema: { type: 'object', properties: {} },
      instruction: null,
      mutating: false,
      visibility: ['model', 'app'],
    });
  });

  test('repeated with its Idempotency-Key happens once', async () => {
    const owner = await platform.createProject();
    const id = await makeAgent(owner);
    const key = { 'Idempotency-Key': 'ui-1' };
    const first = await owner.post(`/v1/agents/${id}/ui`, formOf({ name: 'k' }), key);
    const again = await owner.post(`/v1/agents/${id}/ui`, formOf({ name: 'k' }), key);
    assert.deepEqual([first.status, again.status, again.text], [201, 201, first.text]);
    const other = await owner.post(`/v1/agents/${id}/ui`, formOf({ name: 'k' }, `${PAGE}x`), key);
    assertRefusal(other, 409, 'idempotency_key_reused');
    assert.equal((await settled(owner)).length, 1);
  });
});

describe('is refused, and leaves nothing:', () => {
  const tool = (more: object) => ({ tool: { description: 'D', ...more } });
  const deep = JSON.parse(`${'{"properties":{"a":'.repeat(45)}{}${'}}'.repeat(45)}`);
  const cases: readonly (readonly [what: string, fields: Fields, code: string, param: string])[] = [
    ['no name', { name: undefined }, 'name_required', 'name'],
    ['an empty name', { name: '' }, 'invalid_name', 'name'],
    ['a name with a slash', { name: 'a/b' }, 'invalid_name', 'name'],
    ['a name of 65 characters', { name: 'x'.repeat(65) }, 'invalid_name', 'name'],
    ['a tool with a name of the server’s', { name: 'file_search', ...tool({}) }, 'invalid_name', 'name'],
    ['a field that nobody knows', { scripts: true }, 'invalid_request', 'scripts'],
    ['a csp that is a list', { csp: [] }, 'invalid_request', 'csp'],
    ['a csp that is no JSON', { csp: '{' }, 'invalid_request', 'csp'],
    ['an unknown directive', { csp: { scriptDomains: [] } }, 'invalid_request', 'csp.scriptDomains'],
    [
      'an origin with a path',
      { csp: { connectDomains: ['https://a.example/x'] } },
      'invalid_request',
      'csp.connectDomains.0',
    ],
    [
      'an origin of plain text',
      { csp: { connectDomains: ['http://a.example'] } },
      'invalid_request',
      'csp.connectDomains.0',
    ],
    ['any origin', { csp: { resourceDomains: ['*'] } }, 'invalid_request', 'csp.resourceDomains.0'],
    [
      'an origin that ends a directive',
      { csp: { frameDomains: ['https://a.example; script-src *'] } },
      'invalid_request',
      'csp.frameDomains.0',
    ],
    [
      'an origin with a line break',
      { csp: { frameDomains: ['https://a.example\n'] } },
      'invalid_request',
      'csp.frameDomains.0',
    ],
    [
      'a socket as a resource',
      { csp: { resourceDomains: ['wss://a.example'] } },
      'invalid_request',
      'csp.resourceDomains.0',
    ],
    [
      '51 origins',
      { csp: { connectDomains: Array.from({ length: 51 }, (_, at) => `https://a${at}.example`) } },
      'invalid_request',
      'csp.connectDomains',
    ],
    ['permissions that are text', { permissions: 'camera' }, 'invalid_request', 'permissions'],
    [
      '33 permissions',
      { permissions: Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`p${at}`, {}])) },
      'invalid_request',
      'permissions',
    ],
    ['a border that is text', { prefers_border: '"yes"' }, 'invalid_request', 'prefers_border'],
    ['a domain with a path', { domain: 'a.example/x' }, 'invalid_request', 'domain'],
    ['a tool that is text', { tool: '"t"' }, 'invalid_request', 'tool'],
    ['a tool without a description', { tool: {} }, 'invalid_request', 'tool.description'],
    ['a tool with another member', tool({ name: 'x' }), 'invalid_request', 'tool.name'],
    ['a tool for nobody known', tool({ visibility: ['user'] }), 'invalid_request', 'tool.visibility.0'],
    ['a mutating that is text', tool({ mutating: 'no' }), 'invalid_request', 'tool.mutating'],
    ['arguments that are no object', tool({ input_schema: { type: 'string' } }), 'schema_error', 'tool.input_schema'],
    ['arguments that are a list', tool({ input_schema: [] }), 'invalid_request', 'tool.input_schema'],
    ['arguments that nest too deep', tool({ input_schema: deep }), 'invalid_request', 'tool.input_schema'],
    [
      'arguments with too long a pattern',
      tool({ input_schema: { pattern: 'a'.repeat(2_001) } }),
      'invalid_request',
      'tool.input_schema',
    ],
    [
      'a tool that is too large',
      tool({ input_schema: { title: 'x'.repeat(MAX_TOOL_BYTES) } }),
      'invalid_request',
      'tool',
    ],
  ];
  for (const [what, fields, code, param] of cases) {
    test(what, async () => {
      const owner = await platform.createProject();
      const id = await makeAgent(owner);
      const given = Object.fromEntries(
        Object.entries({ name: 'x', ...fields }).filter(([, value]) => value !== undefined),
      );
      assertRefusal(await send(given, PAGE, [owner, id]), 422, code, param);
      assert.deepEqual(await settled(owner), []);
      assert.equal(await usedBytes(owner), 0);
    });
  }

  const documents: readonly (readonly [what: string, content: string | Uint8Array])[] = [
    ['an empty document', ' \n'],
    ['a text', 'Hello'],
    ['a picture', new Uint8Array([0x89, 0x50, 0x4e, 0x47])],
    ['bytes that are no UTF-8', new Uint8Array([0x3c, 0x62, 0x3e, 0xc3, 0x28])],
    ['half a character', new Uint8Array([0x3c, 0x62, 0x3e, 0xc3])],
    ['a NUL', '<b>\u0000</b>'],
  ];
  for (const [what, content] of documents) {
    test(what, async () => {
      assertRefusal(await send({ name: 'x' }, content), 422, 'invalid_bundle', 'file');
    });
  }

  test('an agent that is not there, or is another project’s', async () => {
    const other = await platform.createProject();
    for (const id of [missingId('agt'), await makeAgent(other)]) {
      assertRefusal(await send({ name: 'x' }, PAGE, [project, id]), 404, 'not_found');
      assertRefusal(await project.get(`/v1/agents/${id}/ui`), 404, 'not_found');
      assertRefusal(await project.delete(`/v1/agents/${id}/ui/x`), 404, 'not_found');
    }
    for (const path of ['nothing', 'nothing/content']) {
      assertRefusal(await project.get(`/v1/agents/${agentId}/ui/${path}`), 404, 'not_found');
    }
    assertRefusal(await project.delete(`/v1/agents/${agentId}/ui/nothing`), 404, 'not_found');
  });
});

describe('the limits hold to the byte:', () => {
  test('a document', async () => {
    const whole = PAGE + 'x'.repeat(MAX_BUNDLE_BYTES - PAGE.length);
    assert.equal((await upload({ name: 'large' }, whole)).content_hash, hashOf(whole));
    const answer = await send({ name: 'large' }, `${whole}x`);
    assertRefusal(answer, 413, 'payload_too_large', 'file');
    assert.match(answer.body.error.message, new RegExp(`${MAX_BUNDLE_BYTES}`));
  });

  test('a tool, all of a draft, and their number', async () => {
    const owner = await platform.createProject();
    const place: [TestProject, string] = [owner, await makeAgent(owner)];
    const toolOf = (bytes: number) => {
      const tool = { description: 'D', instruction: '', input_schema: { title: '' } };
      const rest = bytes - JSON.stringify(tool).length;
      return { ...tool, input_schema: { title: 'x'.repeat(rest) } };
    };
    for (const name of ['a', 'b', 'c']) await upload({ name, tool: toolOf(MAX_TOOL_BYTES) }, PAGE, place);
    assertRefusal(
      await send({ name: 'a', tool: toolOf(MAX_TOOL_BYTES + 1) }, PAGE, place),
      422,
      'invalid_request',
      'tool',
    );
    const { data } = (await owner.get(`/v1/agents/${place[1]}/ui`)).body;
    const small = (await upload({ name: 'd', tool: toolOf(100) }, PAGE, place)) as object;
    const room = MAX_RESOURCES_BYTES - Buffer.byteLength(JSON.stringify([...data, small])) + 100;
    await upload({ name: 'd', tool: toolOf(room) }, PAGE, place);
    const over = await send({ name: 'd', tool: toolOf(room + 1) }, PAGE, place);
    assertRefusal(over, 422, 'invalid_request', 'tool');
    assert.match(over.body.error.message, new RegExp(`${MAX_RESOURCES_BYTES} bytes`));

    const many: [TestProject, string] = [owner, await makeAgent(owner)];
    for (let at = 0; at < MAX_RESOURCES; at += 1) await upload({ name: `r${at}` }, PAGE, many);
    assertRefusal(await send({ name: 'one-more' }, PAGE, many), 422, 'invalid_request', 'name');
    await upload({ name: 'r0' }, `${PAGE}x`, many);
  });

  test('the project’s storage', async () => {
    const owner = await platform.createProject();
    const place: [TestProject, string] = [owner, await makeAgent(owner)];
    const pageOf = (at: number) => `<!--${at}-->${'x'.repeat(1_000)}`;
    const bytes = pageOf(0).length;
    await upload({ name: 'p0' }, pageOf(0), place);
    const leave = (left: number) =>
      platform.db.query({
        text: 'update project_storage set used_bytes = $2 where project_id = $1',
        values: [owner.projectId, PROJECT_STORAGE_BYTES - left],
      });
    await leave(bytes - 1);
    assertRefusal(await send({ name: 'p1' }, pageOf(1), place), 413, 'payload_too_large', 'file');
    await leave(bytes);
    await upload({ name: 'p1' }, pageOf(1), place);
    assert.equal(await usedBytes(owner), PROJECT_STORAGE_BYTES);
    assertRefusal(await send({ name: 'p2' }, pageOf(2), place), 413, 'payload_too_large', 'file');
    // The same document takes nothing more, and one that replaces another takes its room.
    await upload({ name: 'p2' }, pageOf(1), place);
    await upload({ name: 'p0' }, pageOf(3), place);
    assert.equal(await usedBytes(owner), PROJECT_STORAGE_BYTES);
    await reconcileStorage({ db: platform.db, logger }, NEVER);
    assert.equal(await usedBytes(owner), 2 * bytes);
  });
});

describe('the document', () => {
  test('is served as what it is, in a sandbox', async () => {
    const csp = {
      connectDomains: ['https://api.example.com', 'wss://live.example.com'],
      resourceDomains: ['https://cdn.example.com'],
    };
    const { content_hash } = await upload({ name: 'served', csp });
    const path = `/v1/agents/${agentId}/ui/served/content`;
    const answer = await project.get(path);
    assert.deepEqual([answer.status, answer.text], [200, PAGE]);
    const header = (name: string) => answer.headers.get(name);
    assert.equal(header('etag'), `"${content_hash}"`);
    assert.equal(header('content-type'), 'text/html; charset=utf-8');
    assert.equal(header('x-content-type-options'), 'nosniff');
    assert.match(header('content-disposition') ?? '', /^attachment/);
    const rules = new Map(
      (header('content-security-policy') ?? '').split('; ').map((rule) => {
        const [name = '', ...values] = rule.split(' ');
        return [name, values.join(' ')];
      }),
    );
    assert.equal(rules.get('sandbox'), 'allow-scripts allow-forms');
    assert.equal(rules.get('default-src'), "'none'");
    assert.equal(rules.get('connect-src'), 'https://api.example.com wss://live.example.com');
    assert.equal(rules.get('script-src'), "'unsafe-inline' https://cdn.example.com");
    assert.equal(rules.get('frame-src'), "'none'");
    assert.equal(rules.get('form-action'), "'none'");
    assert.equal(rules.get('base-uri'), "'none'");
    const cached = await project.get(path, { 'if-none-match': `"${content_hash}"` });
    assert.deepEqual([cached.status, cached.text], [304, '']);
    const part = await project.get(path, { range: 'bytes=1-7' });
    assert.deepEqual([part.status, part.text], [206, PAGE.slice(1, 8)]);
    assert.match(part.headers.get('content-security-policy') ?? '', /^sandbox /);
  });

  test('of a version stays as it was published', async () => {
    const id = await makeAgent(project);
    const place: [TestProject, string] = [project, id];
    await upload({ name: 'card' }, '<p>1</p>', place);
    assert.equal(await publishVersion(project, id), 1);
    await upload({ name: 'card', domain: 'two.example' }, '<p>2</p>', place);
    assert.equal(await publishVersion(project, id), 2);
    assert.equal((await project.delete(`/v1/agents/${id}/ui/card`)).status, 204);
    const path = `/v1/agents/${id}/ui`;
    assert.equal((await project.get(`${path}/card/content?version=1`)).text, '<p>1</p>');
    assert.equal((await project.get(`${path}/card/content?version=2`)).text, '<p>2</p>');
    assert.equal((await project.get(`${path}/card?version=2`)).body.domain, 'two.example');
    assert.equal((await project.get(`${path}?version=1`)).body.data.length, 1);
    assertRefusal(await project.get(`${path}/card/content`), 404, 'not_found');
    assertRefusal(await project.get(`${path}/card/content?version=3`), 404, 'not_found', 'version');
  });
});

describe('the bytes', () => {
  test('are kept once for each content, while a draft, a version or an open run needs them', async () => {
    const owner = await platform.createProject();
    const [first, second] = [await makeAgent(owner), await makeAgent(owner)];
    const tool = { description: 'Shows a card.' };
    await upload({ name: 'a', tool }, PAGE, [owner, first]);
    await upload({ name: 'b' }, PAGE, [owner, first]);
    await upload({ name: 'c' }, PAGE, [owner, second]);
    assert.equal((await settled(owner)).length, 1);
    assert.equal(await usedBytes(owner), PAGE.length);
    assert.equal(await publishVersion(owner, first), 1);
    const smithId = await owner.createSmith({ agent_id: first, model: null });
    const paused = await owner.post(`/v1/smiths/${smithId}/runs`, {
      input: [{ role: 'user', content: 'Call the tool notify with {}' }],
      tools: [{ name: 'notify' }],
    });
    assert.equal(paused.body.status, 'paused', paused.text);
    const kept = async (expected: number) => {
      await sweepUiBundles({ db: platform.db, blobs: platform.blobs, logger }, NEVER);
      await sweepOrphanedBlobs(
        { db: platform.db, blobs: platform.blobs, logger },
        NEVER,
        new Date(Date.now() + 7_200_000),
      );
      assert.equal((await settled(owner)).length, expected);
      assert.equal(await usedBytes(owner), expected * PAGE.length);
    };
    await owner.delete(`/v1/agents/${first}/ui/a`);
    await owner.delete(`/v1/agents/${first}/ui/b`);
    await owner.delete(`/v1/agents/${second}/ui/c`);
    await kept(1);
    // The version goes with its agent; the run is still open.
    assert.equal((await owner.patch(`/v1/smiths/${smithId}`, { agent_id: null })).status, 200);
    assert.equal((await owner.delete(`/v1/agents/${first}`)).status, 204);
    await kept(1);
    const [key] = await listBlobs(owner);
    assert.equal(await platform.blobs.exists(key ?? ''), true);
    await owner.post(`/v1/smiths/${smithId}/runs/${paused.body.id}/cancel`);
    await kept(0);
    assert.equal(await platform.blobs.exists(key ?? ''), false);
  });

  test('of one that is replaced or deleted go at once where nothing else needs them', async () => {
    const owner = await platform.createProject();
    const place: [TestProject, string] = [owner, await makeAgent(owner)];
    await upload({ name: 'a' }, PAGE, place);
    const [old] = await settled(owner);
    await upload({ name: 'a' }, `${PAGE}2`, place);
    const [kept] = await settled(owner);
    assert.notEqual(kept, old);
    assert.equal(await usedBytes(owner), PAGE.length + 1);
    await owner.delete(`/v1/agents/${place[1]}/ui/a`);
    assert.deepEqual(await settled(owner), []);
    assert.equal(await usedBytes(owner), 0);
  });

  test('are there for whatever names them, however uploads and deletions meet', async () => {
    const owner = await platform.createProject();
    const agents = await Promise.all(Array.from({ length: 4 }, () => makeAgent(owner)));
    for (let round = 0; round < 6; round += 1) {
      await Promise.all(
        agents.map((id, at) =>
          (round + at) % 2 === 0
            ? upload({ name: 'r' }, `<p>${(round + at) % 3}</p>`, [owner, id])
            : owner.delete(`/v1/agents/${id}/ui/r`),
        ),
      );
      for (const id of agents) {
        const shown = await owner.get(`/v1/agents/${id}/ui/r`);
        if (shown.status === 404) continue;
        const content = await owner.get(`/v1/agents/${id}/ui/r/content`);
        assert.equal(hashOf(content.text), shown.body.content_hash, content.text);
      }
    }
    await sweepUiBundles({ db: platform.db, blobs: platform.blobs, logger }, NEVER);
    const named = new Set<string>();
    for (const id of agents) {
      for (const one of (await owner.get(`/v1/agents/${id}/ui`)).body.data) named.add(one.content_hash);
    }
    assert.equal((await settled(owner)).length, named.size);
  });

  test('come along when an agent is made of a smith', async () => {
    const owner = await platform.createProject();
    const id = await makeAgent(owner);
    await upload({ name: 'card' }, PAGE, [owner, id]);
    await publishVersion(owner, id);
    const smithId = await owner.createSmith({ agent_id: id, model: null });
    const imported = await owner.post('/v1/agents/import', { from_smith: smithId, name: 'B' });
    assert.equal(imported.status, 201, imported.text);
    assert.equal((await owner.get(`/v1/agents/${imported.body.id}/ui/card/content`)).text, PAGE);
  });
});

describe('a turn', () => {
  const resources = {
    card: { description: 'Shows a card.', instruction: 'Say that the card is shown.', mutating: true },
    plain: { description: 'Shows nothing more.' },
    hidden: { description: 'For the app.', visibility: ['app'] },
  };
  let id: string;
  let smithId: string;
  before(async () => {
    id = await makeAgent(project);
    for (const [name, tool] of Object.entries(resources)) await upload({ name, tool }, PAGE, [project, id]);
    await upload({ name: 'no-tool' }, PAGE, [project, id]);
    await publishVersion(project, id);
    smithId = await project.createSmith({ agent_id: id, model: null });
  });
  const run = (content: string, more: object = {}) =>
    project.post(`/v1/smiths/${smithId}/runs`, { input: [{ role: 'user', content }], ...more });
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into outputs of every shape.
  const outputs = async (runId: string): Promise<any[]> => {
    const { rows } = await platform.db.query<{ output: unknown }>({
      text: `select output from run_steps where project_id = $1 and run_id = $2 and kind = 'tool' order by position`,
      values: [project.projectId, runId],
    });
    return rows.map(({ output }) => output);
  };

  test('offers them as tools: the result is the instruction, the arguments and where it is', async () => {
    const { body, text } = await run('Call the tool card with {"title": "é"}, then call the tool plain with {}');
    assert.equal(body.status, 'completed', text);
    assert.deepEqual(await outputs(body.id), [
      {
        instruction: 'Say that the card is shown.',
        arguments: { title: 'é' },
        resource_uri: `ui://${id}/card`,
      },
      { instruction: null, arguments: {}, resource_uri: `ui://${id}/plain` },
    ]);
  });

  test('does not offer what only the app may call, or what is no tool', async () => {
    for (const name of ['hidden', 'no-tool']) {
      assertRefusal(await run('Hello', { tool_choice: { name } }), 422, 'invalid_tool_choice', 'tool_choice');
    }
    const chosen = await run('Hello', { tool_choice: { name: 'card' } });
    assert.equal((await outputs(chosen.body.id)).length, 1, chosen.text);
    const taken = await run('Hello', { tools: [{ name: 'card' }] });
    assertRefusal(taken, 422, 'invalid_request', 'tools');
  });

  test('has those that it began with, whatever is published meanwhile', async () => {
    const paused = await run('Call the tool notify with {}, then call the tool card with {}', {
      tools: [{ name: 'notify' }],
    });
    assert.equal(paused.body.status, 'paused', paused.text);
    await upload({ name: 'card', tool: { ...resources.card, instruction: 'Another.' } }, PAGE, [project, id]);
    const version = await publishVersion(project, id);
    await project.post(`/v1/agents/${id}/rollout`, { version });
    const [call] = paused.body.output.tool_calls;
    const submitted = await project.post(`/v1/smiths/${smithId}/runs/${paused.body.id}/submit`, {
      kind: 'tool_result',
      tool_call_id: call.id,
      result: { done: true },
    });
    assert.equal(submitted.body.status, 'completed', submitted.text);
    assert.equal((await outputs(paused.body.id)).at(-1).instruction, 'Say that the card is shown.');
    const next = await run('Call the tool card with {}');
    assert.equal((await outputs(next.body.id))[0].instruction, 'Another.');
  });
});
