import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { missingId } from '../../../../test/conformance/world.ts';
import { startLately } from '../../../../test/support/lately.ts';
import { type Answer, type Client, startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';
import { openTestLogger } from '../../../../test/support/test-log.ts';
import { TenantDatabase } from '../../store/tenant-db.ts';
import { expireFiles } from './expire-files.ts';
import { createTurnFiles } from './index.ts';

const isLately = startLately();

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform();
});
after(() => platform.close());

function formOf(
  content: string | Uint8Array<ArrayBuffer>,
  fields: Record<string, string> = {},
  filename = 'notes.txt',
) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set('file', new Blob([content]), filename);
  return form;
}

async function upload(caller: Client, content: string, purpose?: string): Promise<string> {
  const answer = await caller.post('/v1/files', formOf(content, purpose === undefined ? {} : { purpose }));
  assert.equal(answer.status, 200, answer.text);
  return answer.body.id;
}

async function waitUntilGone(key: string): Promise<void> {
  while (await platform.blobs.exists(key)) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function countRows(table: 'files' | 'unclaimed_blobs', projectId: string): Promise<number> {
  const { rows } = await platform.db.query<{ count: number }>({
    text: `select count(*) as count from ${table} where project_id = $1`,
    values: [projectId],
  });
  return rows[0]?.count ?? -1;
}

describe('an upload', () => {
  test('answers with the file, and its bytes come back', async () => {
    const p = await platform.createProject();
    const content = randomBytes(200_000);
    const created = await p.post('/v1/files', formOf(content, { purpose: 'assistants' }, 'Bericht März.pdf'));
    assert.equal(created.status, 200, created.text);
    const { id, created_at, ...rest } = created.body;
    assert.match(id, /^file_/);
    assert.ok(isLately(created_at * 1_000) && Number.isInteger(created_at));
    assert.deepEqual(rest, {
      object: 'file',
      bytes: 200_000,
      filename: 'Bericht März.pdf',
      purpose: 'assistants',
      status: 'processed',
      status_details: null,
    });
    assert.deepEqual((await p.get(`/v1/files/${id}`)).body, created.body);
    const got = await p.open('GET', `/v1/files/${id}/content`);
    assert.equal(got.headers.get('content-type'), 'application/pdf');
    assert.deepEqual(Buffer.from(await got.arrayBuffer()), content);
    assert.equal(await countRows('unclaimed_blobs', p.projectId), 0);
    assert.equal(await platform.blobs.exists(`${p.projectId}/${id}`), true);
  });

  test('may be empty, may name its purpose behind the file, and needs none', async () => {
    const p = await platform.createProject();
    const form = new FormData();
    form.set('file', new Blob([]), 'empty');
    assert.equal((await p.post('/v1/files', form)).body.purpose, 'user_data');
    form.set('purpose', 'vision');
    form.set('unknown[member]', 'is ignored');
    const answer = await p.post('/v1/files', form);
    assert.deepEqual([answer.status, answer.body.purpose, answer.body.bytes], [200, 'vision', 0]);
  });

  test('may name its time, after which nobody sees it and nothing of it stays', async () => {
    const p = await platform.createProject();
    const expiry = { 'expires_after[anchor]': 'created_at', 'expires_after[seconds]': '3600' };
    const { body: file } = await p.post('/v1/files', formOf('soon gone', expiry));
    assert.equal(file.expires_at, file.created_at + 3600);
    assert.deepEqual((await p.get(`/v1/files/${file.id}`)).body, file);
    const { body: days } = await p.post(
      '/v1/files',
      formOf('later', { 'expires_after[anchor]': 'created_at', 'expires_after[days]': '2' }),
    );
    assert.equal(days.expires_at, days.created_at + 2 * 86_400);

    await platform.db.query({
      text: `update files set expires_at = now() - interval '1 second' where project_id = $1 and id = $2`,
      values: [p.projectId, file.id],
    });
    for (const path of [`/v1/files/${file.id}`, `/v1/files/${file.id}/content`]) {
      assert.equal((await p.get(path)).status, 404, path);
    }
    assert.equal((await p.delete(`/v1/files/${file.id}`)).status, 404);
    assert.equal((await p.post('/v1/vector_stores', { file_ids: [file.id] })).body.error.param, 'file_ids.0');
    const listed = (await p.get('/v1/files')).body.data.map(({ id }: { id: string }) => id);
    assert.deepEqual(listed, [days.id]);

    const { db, blobs } = platform;
    await expireFiles({ db, blobs, logger: openTestLogger() }, new AbortController().signal);
    assert.equal(await countRows('files', p.projectId), 1);
    await waitUntilGone(`${p.projectId}/${file.id}`);
  });

  test('whose time is no good is refused', async () => {
    const p = await platform.createProject();
    const anchor = { 'expires_after[anchor]': 'created_at' };
    const cases: [Record<string, string>, string][] = [
      [{ 'expires_after[anchor]': 'last_active_at', 'expires_after[seconds]': '3600' }, 'expires_after[anchor]'],
      [{ 'expires_after[seconds]': '3600' }, 'expires_after[anchor]'],
      [anchor, 'expires_after[seconds]'],
      [{ ...anchor, 'expires_after[seconds]': '3600', 'expires_after[days]': '1' }, 'expires_after[seconds]'],
      [{ ...anchor, 'expires_after[seconds]': '3599' }, 'expires_after[seconds]'],
      [{ ...anchor, 'expires_after[seconds]': 'soon' }, 'expires_after[seconds]'],
      [{ ...anchor, 'expires_after[days]': '31' }, 'expires_after[days]'],
    ];
    for (const [fields, param] of cases) {
      const { status, body } = await p.post('/v1/files', formOf('x', fields));
      assert.deepEqual([status, body.error?.code, body.error?.param], [422, 'invalid_request', param]);
    }
    assert.equal(await countRows('files', p.projectId), 0);
  });

  test('without a file, with several, or with a purpose that is no word, is refused and leaves nothing', async () => {
    const p = await platform.createProject();
    const text = new FormData();
    text.set('file', 'I am text');
    const two = formOf('one');
    two.append('file', new Blob(['two']), 'two.txt');
    const other = new FormData();
    other.set('document', new Blob(['x']), 'x.txt');
    const cases: [FormData, string][] = [
      [new FormData(), 'file'],
      [text, 'file'],
      [two, 'file'],
      [other, 'file'],
      [formOf('x', { purpose: '' }), 'purpose'],
      [formOf('x', { purpose: 'two words' }), 'purpose'],
      [formOf('x', { purpose: 'p'.repeat(65) }), 'purpose'],
    ];
    for (const [form, param] of cases) {
      const { status, body, text: answered } = await p.post('/v1/files', form);
      assert.deepEqual([status, body?.error?.code, body?.error?.param], [422, 'invalid_request', param], answered);
    }
    assert.equal(await countRows('files', p.projectId), 0);
    assert.equal(await countRows('unclaimed_blobs', p.projectId), 0);
  });
});

describe('Idempotency-Key of an upload', () => {
  const keyed = (key: string) => ({ 'idempotency-key': key });

  test('a repetition answers with the first file, to the byte, and keeps one', async () => {
    const p = await platform.createProject();
    const first = await p.post('/v1/files', formOf('same', { purpose: 'evals' }), keyed('k'));
    assert.equal(first.status, 200, first.text);
    const again = await p.post('/v1/files', formOf('same', { purpose: 'evals' }), keyed('k'));
    assert.deepEqual([again.status, again.text], [200, first.text]);
    assert.equal(again.headers.get('idempotent-replay'), 'true');
    assert.equal(await countRows('files', p.projectId), 1);
    assert.equal(await countRows('unclaimed_blobs', p.projectId), 0);
  });

  test('another content, name or field under the same key is refused, and leaves nothing', async () => {
    const p = await platform.createProject();
    await p.post('/v1/files', formOf('same'), keyed('k'));
    for (const form of [formOf('other'), formOf('same', {}, 'other.txt'), formOf('same', { purpose: 'vision' })]) {
      const answer = await p.post('/v1/files', form, keyed('k'));
      assert.deepEqual([answer.status, answer.body.error.code], [409, 'idempotency_key_reused']);
    }
    assert.equal(await countRows('files', p.projectId), 1);
    assert.equal(await countRows('unclaimed_blobs', p.projectId), 0);
  });

  test('a refused upload leaves the key free', async () => {
    const p = await platform.createProject();
    assert.equal((await p.post('/v1/files', formOf('x', { purpose: ' ' }), keyed('k'))).status, 422);
    assert.equal((await p.post('/v1/files', formOf('x'), keyed('k'))).status, 200);
  });

  test('a key that is no key is refused before the file is taken in', async () => {
    const p = await platform.createProject();
    const answer = await p.post('/v1/files', formOf('x'), keyed('x'.repeat(256)));
    assert.deepEqual([answer.status, answer.body.error.param], [422, 'Idempotency-Key']);
  });

  test('of many at once, one file comes to be', async () => {
    const p = await platform.createProject();
    const content = randomBytes(300_000);
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => p.post('/v1/files', formOf(content), keyed('k'))),
    );
    const done = answers.filter(({ status }) => status === 200);
    for (const { status, body } of answers) assert.ok(status === 200 || body.error.code === 'idempotency_in_progress');
    assert.equal(new Set(done.map(({ text }) => text)).size, 1);
    assert.equal(done.filter(({ headers }) => headers.get('idempotent-replay') === null).length, 1);
    assert.equal(await countRows('files', p.projectId), 1);
    assert.equal(await countRows('unclaimed_blobs', p.projectId), 0);
    const id = done[0]?.body.id;
    const got = await p.open('GET', `/v1/files/${id}/content`);
    assert.deepEqual(Buffer.from(await got.arrayBuffer()), content);
  });
});

describe('the content', () => {
  const digits = '0123456789';
  const ranges: readonly (readonly [range: string, status: number, part: string, contentRange: string | null])[] = [
    ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=-99', 206, digits, 'bytes 0-9/10'],
    ['bytes=8-99', 206, '89', 'bytes 8-9/10'],
    ['bytes=0-0', 206, '0', 'bytes 0-0/10'],
    ['bytes=5-4', 200, digits, null],
    ['bytes=0-1,3-4', 200, digits, null],
    ['bytes=-', 200, digits, null],
    ['items=0-1', 200, digits, null],
    ['bytes=a-b', 200, digits, null],
  ];
  for (const [range, status, part, contentRange] of ranges) {
    test(`${range} gets ${status} ${part}`, async () => {
      const p = await platform.createProject();
      const id = await upload(p, digits);
      const answer = await p.get(`/v1/files/${id}/content`, { range });
      assert.deepEqual([answer.status, answer.text], [status, part]);
      assert.equal(answer.headers.get('content-range'), contentRange);
      assert.equal(answer.headers.get('content-length'), String(part.length));
    });
  }

  test('a range behind the end is 416, and says how long the file is', async () => {
    const p = await platform.createProject();
    for (const [content, range] of [
      [digits, 'bytes=10-'],
      [digits, 'bytes=-0'],
      [digits, `bytes=${'9'.repeat(30)}-`],
      ['', 'bytes=0-'],
    ] as const) {
      const answer = await p.get(`/v1/files/${await upload(p, content)}/content`, { range });
      assert.deepEqual([answer.status, answer.body.error.code], [416, 'invalid_request'], range);
      assert.equal(answer.headers.get('content-range'), `bytes */${content.length}`);
    }
  });

  test('comes as a download that no browser takes for a page, with its name, length and tag', async () => {
    const p = await platform.createProject();
    const form = formOf('<script>1</script>', {}, 'Grüße "1".html');
    const { id } = (await p.post('/v1/files', form)).body;
    const { headers, text } = await p.get(`/v1/files/${id}/content`);
    assert.equal(text, '<script>1</script>');
    assert.equal(headers.get('content-type'), 'text/html');
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(
      headers.get('content-disposition'),
      `attachment; filename="Gr__e _1_.html"; filename*=UTF-8''Gr%C3%BC%C3%9Fe%20%221%22.html`,
    );
    assert.equal(headers.get('accept-ranges'), 'bytes');
    assert.match(headers.get('etag') ?? '', /^"[0-9a-f]{64}"$/);
  });

  test('is not sent again to who has it, and a range of an older one is not honoured', async () => {
    const p = await platform.createProject();
    const path = `/v1/files/${await upload(p, digits)}/content`;
    const etag = (await p.get(path)).headers.get('etag') ?? '';
    for (const tag of [etag, `W/${etag}`, `"a", ${etag}`, '*']) {
      const answer = await p.get(path, { 'if-none-match': tag });
      assert.deepEqual([answer.status, answer.text, answer.headers.get('etag')], [304, '', etag], tag);
    }
    assert.equal((await p.get(path, { 'if-none-match': '"a"' })).status, 200);
    assert.equal((await p.get(path, { range: 'bytes=1-2', 'if-range': etag })).text, '12');
    assert.equal((await p.get(path, { range: 'bytes=1-2', 'if-range': '"a"' })).text, digits);
  });

  test('HEAD gives the headers of the whole, and no bytes', async () => {
    const p = await platform.createProject();
    const path = `/v1/files/${await upload(p, digits)}/content`;
    const head = await p.open('HEAD', path, undefined, { range: 'bytes=1-2' });
    assert.deepEqual([head.status, await head.text(), head.headers.get('content-length')], [200, '', '10']);
    assert.equal((await p.open('HEAD', `/v1/files/${missingId('file')}/content`)).status, 404);
  });

  test('that the store has lost is storage_unavailable', async () => {
    const p = await platform.createProject();
    const id = await upload(p, digits);
    await platform.blobs.remove(`${p.projectId}/${id}`);
    const answer = await p.get(`/v1/files/${id}/content`);
    assert.deepEqual([answer.status, answer.body.error.code], [503, 'storage_unavailable']);
    assert.equal((await p.get(`/v1/files/${id}`)).status, 200);
  });
});

describe('the list', () => {
  const idsOf = (answer: Answer) => answer.body.data.map(({ id }: { id: string }) => id);

  test('pages both ways, newest first unless asked otherwise', async () => {
    const p = await platform.createProject();
    const made: string[] = [];
    for (let number = 0; number < 5; number += 1) made.push(await upload(p, `${number}`));
    const newest = [...made].reverse();
    const all = await p.get('/v1/files');
    assert.deepEqual(idsOf(all), newest);
    const { object, first_id, last_id, has_more } = all.body;
    assert.deepEqual([object, first_id, last_id, has_more], ['list', newest[0], newest[4], false]);
    const page = await p.get('/v1/files?limit=2');
    assert.deepEqual([idsOf(page), page.body.has_more], [newest.slice(0, 2), true]);
    const next = await p.get(`/v1/files?limit=2&after=${page.body.last_id}`);
    assert.deepEqual(idsOf(next), newest.slice(2, 4));
    assert.deepEqual(idsOf(await p.get(`/v1/files?order=asc&after=${made[2]}`)), made.slice(3));
    assert.deepEqual(idsOf(await p.get(`/v1/files?limit=2&before=${newest[3]}`)), newest.slice(1, 3));
    assert.equal((await p.get('/v1/files?limit=0')).body.error.code, 'invalid_limit');
    assert.equal((await p.get('/v1/files?after=a&before=b')).body.error.code, 'invalid_cursor');
  });

  test('shows one purpose where asked', async () => {
    const p = await platform.createProject();
    const [, batch] = [await upload(p, 'a', 'vision'), await upload(p, 'b', 'batch')];
    assert.deepEqual(idsOf(await p.get('/v1/files?purpose=batch')), [batch]);
    assert.deepEqual((await p.get('/v1/files?purpose=evals')).body, {
      object: 'list',
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
  });

  test('leaves out what came inside a conversation, which its id reaches', async () => {
    const p = await platform.createProject();
    const smithId = await p.createSmith();
    const config = { fileLimitBytes: 8, projectStorageBytes: 1024 ** 4 };
    const files = createTurnFiles({ ...platform, config, logger: openTestLogger() });
    const pixels = { filename: '', mediaType: 'image/png', content: Buffer.from('pixels') };
    const row = await files.store(p.projectId, pixels);
    assert.equal((await p.get(`/v1/files/${row.id}`)).status, 404);
    await new TenantDatabase(platform.db, p.projectId).transaction((tx) => files.claim(tx, smithId, [row]));
    assert.deepEqual(idsOf(await p.get('/v1/files')), []);
    const got = await p.get(`/v1/files/${row.id}`);
    assert.deepEqual([got.status, got.body.bytes, got.body.filename], [200, 6, 'upload']);
    assert.equal((await p.get(`/v1/files/${row.id}/content`)).text, 'pixels');
    const smith = p.as(await p.smithToken(smithId, ['files:read']));
    assert.equal((await smith.get(`/v1/files/${row.id}`)).status, 200);
    // Those that are files already stay.
    await files.discard(p.projectId, [row]);
    assert.equal((await p.get(`/v1/files/${row.id}/content`)).text, 'pixels');
    await assert.rejects(files.store(p.projectId, { ...pixels, content: Buffer.from('nine long') }), {
      code: 'payload_too_large',
    });
    assert.equal(await countRows('unclaimed_blobs', p.projectId), 0);
  });
});

test('a smith token sees, downloads and deletes what it uploaded, and nothing else', async () => {
  const p = await platform.createProject();
  const permissions = ['files:read', 'files:write'];
  const [one, other] = [await p.createSmith(), await p.createSmith()];
  const smith = p.as(await p.smithToken(one, permissions));
  const neighbour = p.as(await p.smithToken(other, permissions));
  const [own, foreign, tenants] = [await upload(smith, 'own'), await upload(neighbour, 'x'), await upload(p, 'y')];
  assert.deepEqual(
    (await smith.get('/v1/files')).body.data.map(({ id }: { id: string }) => id),
    [own],
  );
  assert.equal((await p.get('/v1/files')).body.data.length, 3);
  const missing = (await smith.get(`/v1/files/${missingId('file')}`)).text;
  for (const id of [foreign, tenants]) {
    for (const path of [`/v1/files/${id}`, `/v1/files/${id}/content`]) {
      const answer = await smith.get(path);
      assert.deepEqual([answer.status, answer.text], [404, missing]);
    }
    assert.equal((await smith.delete(`/v1/files/${id}`)).status, 404);
    assert.equal((await p.get(`/v1/files/${id}/content`)).status, 200);
  }
  assert.equal((await smith.get(`/v1/files/${own}/content`)).text, 'own');
  assert.equal((await smith.delete(`/v1/files/${own}`)).status, 200);
});

test('another project’s file is as if it never existed, to the byte', async () => {
  const [p, abroad] = [await platform.createProject(), await platform.createProject()];
  const id = await upload(p, 'mine');
  const missing = missingId('file');
  for (const path of ['', '/content']) {
    const foreign = await abroad.get(`/v1/files/${id}${path}`);
    assert.deepEqual([foreign.status, foreign.text], [404, (await abroad.get(`/v1/files/${missing}${path}`)).text]);
  }
  assert.equal((await abroad.delete(`/v1/files/${id}`)).status, 404);
  assert.equal((await p.get(`/v1/files/${id}/content`)).text, 'mine');
});

describe('a deleted file', () => {
  test('is gone with its bytes', { timeout: 60_000 }, async () => {
    const p = await platform.createProject();
    const id = await upload(p, 'gone');
    const answer = await p.delete(`/v1/files/${id}`);
    assert.deepEqual([answer.status, answer.body], [200, { id, object: 'file', deleted: true }]);
    for (const path of [`/v1/files/${id}`, `/v1/files/${id}/content`]) assert.equal((await p.get(path)).status, 404);
    assert.equal((await p.delete(`/v1/files/${id}`)).status, 404);
    await waitUntilGone(`${p.projectId}/${id}`);
  });

  test('is deleted once, by one of many', async () => {
    const p = await platform.createProject();
    const id = await upload(p, 'raced');
    const answers = await Promise.all(Array.from({ length: 8 }, () => p.delete(`/v1/files/${id}`)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(7).fill(404)]);
  });
});
