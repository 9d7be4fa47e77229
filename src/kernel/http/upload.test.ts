/** Forms with a file, on a service with no product in it: what is read, what is refused, and what is left. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, beforeEach, describe, mock, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sendRaw } from '../../../test/conformance/raw-http.ts';
import { openTestDatabase } from '../../../test/support/database.ts';
import { describeSmallService, type SmallCaller, smallErrors } from '../../../test/support/small-service.ts';
import { ApiError } from './errors.ts';
import { operationsFor } from './operation.ts';
import { createService, type ServiceOptions } from './service.ts';
import { Type } from './type-builder.ts';
import { type FilePart, MAX_FIELD_BYTES, MAX_FIELDS } from './upload.ts';
import { deadlinesFor } from './watch-connections.ts';

const MAX_BYTES = 100_000;
const { sweepMs } = deadlinesFor();

interface Stored {
  readonly text: string;
  readonly part: Pick<FilePart, 'filename' | 'mediaType'>;
  readonly sha256: string;
}

/** What the target holds, and what it was told to throw away. */
const held = new Set<Stored>();
let discarded = 0;
/** Files that are arriving. */
let arriving = 0;
let outcome: 'done' | 'refuse' | 'break' = 'done';

async function storeText(part: FilePart): Promise<Stored> {
  const chunks: Uint8Array[] = [];
  arriving += 1;
  try {
    for await (const chunk of part.bytes) chunks.push(chunk);
  } finally {
    arriving -= 1;
  }
  const content = Buffer.concat(chunks);
  const sha256 = createHash('sha256').update(content).digest('hex');
  const stored = { text: content.toString('latin1'), part, sha256 };
  held.add(stored);
  return stored;
}

const operation = operationsFor<SmallCaller>().upload({
  id: 'texts.create',
  method: 'POST',
  path: '/v1/texts',
  posture: 'closed',
  summary: 'Upload a text',
  fields: Type.Object({ tone: Type.Optional(Type.String({ maxLength: 8 })), pages: Type.Optional(Type.Integer()) }),
  upload: {
    field: 'text',
    maxBytes: MAX_BYTES,
    store: (_caller, part) => storeText(part),
    discard: forget,
  },
  reply: Type.Object({
    text: Type.String(),
    filename: Type.String(),
    tone: Type.Optional(Type.String()),
    pages: Type.Optional(Type.Integer()),
  }),
  async handler({ file, body }) {
    if (outcome === 'refuse') throw new ApiError('not_found');
    if (outcome === 'break') throw new Error('the connection broke');
    return { text: file.text, filename: file.part.filename, ...body };
  },
});

const CLOSED = { additionalProperties: false };
const MAX_FILES = 3;
const MAX_TOTAL_BYTES = 150_000;
const several = operationsFor<SmallCaller>().upload({
  id: 'albums.create',
  method: 'POST',
  path: '/v1/albums',
  posture: 'closed',
  summary: 'Upload several texts',
  fields: Type.Object({ tone: Type.Optional(Type.String({ maxLength: 8 })) }),
  upload: {
    field: 'text',
    maxBytes: MAX_BYTES,
    maxFiles: MAX_FILES,
    maxTotalBytes: MAX_TOTAL_BYTES,
    store: (_caller, part) => storeText(part),
    discard: forget,
  },
  reply: Type.Object({ texts: Type.Array(Type.String()), first: Type.String() }),
  async handler({ file, files }) {
    if (outcome === 'refuse') throw new ApiError('not_found');
    return { texts: files.map(({ text }) => text), first: file.text };
  },
});

const LARGE_FIELD_BYTES = 64 * 1024;
const settings = operationsFor<SmallCaller>().upload({
  id: 'settings.create',
  method: 'POST',
  path: '/v1/settings',
  posture: 'closed',
  summary: 'Upload a text with settings',
  fields: Type.Object({
    name: Type.Optional(Type.String()),
    color: Type.Optional(Type.String()),
    options: Type.Optional(
      Type.Object({ deep: Type.Optional(Type.Boolean()), note: Type.Optional(Type.String()) }, CLOSED),
    ),
  }),
  upload: {
    field: 'text',
    maxBytes: MAX_BYTES,
    maxFieldBytes: LARGE_FIELD_BYTES,
    jsonFields: ['options', 'color'],
    store: (_caller, part) => storeText(part),
    discard: forget,
  },
  reply: Type.Object({ fields: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }) }),
  async handler({ body }) {
    return { fields: body };
  },
});

const bundles = operationsFor<SmallCaller>().upload({
  id: 'bundles.create',
  method: 'POST',
  path: '/v1/bundles',
  posture: 'closed',
  summary: 'Upload a bundle',
  fields: Type.Object({ tone: Type.Optional(Type.String({ maxLength: 8 })) }),
  upload: {
    field: 'texts',
    alsoField: 'text',
    bareType: 'application/zip',
    keepsFolders: true,
    maxBytes: MAX_BYTES,
    maxFiles: MAX_FILES,
    store: (_caller, part) => storeText(part),
    async combine(caller, parts) {
      if (parts.some(({ text }) => text === 'bad')) throw new ApiError('invalid_request', { param: 'texts' });
      for (const part of parts) await forget(caller, part);
      const joined = {
        ...parts[0],
        text: parts.map(({ text, part }) => `${part.filename}=${text}`).join(),
        sha256: 'j',
      };
      held.add(joined as Stored);
      return joined as Stored;
    },
    discard: forget,
  },
  reply: Type.Object({ text: Type.String(), files: Type.Integer(), mediaType: Type.String() }),
  async handler({ file, files }) {
    if (outcome === 'refuse') throw new ApiError('not_found');
    return { text: file.text, files: files.length, mediaType: file.part.mediaType };
  },
});

async function forget(_caller: SmallCaller, stored: Stored): Promise<void> {
  discarded += 1;
  held.delete(stored);
}

let nowMs = 0;
mock.timers.enable({ apis: ['setInterval'] });
mock.method(performance, 'now', () => nowMs);
/** The answer to a sender that falls silent: connections are looked at again and again until it comes. */
async function untilTooSlow<Answer>(answer: Promise<Answer>): Promise<Answer> {
  let isAnswered = false;
  const answered = answer.finally(() => {
    isAnswered = true;
  });
  while (!isAnswered) {
    nowMs += sweepMs;
    mock.timers.tick(sweepMs);
    await nextTurn();
  }
  return answered;
}

const { db, close } = await openTestDatabase();
const optionsFor = (requestsPerMinute: number): ServiceOptions<SmallCaller> => ({
  ...describeSmallService(db, [operation, several, settings, bundles]),
  requestsPerMinute,
  addressRequestsPerMinute: 10_000,
});
const app = await createService(optionsFor(10_000));
const url = await app.listen({ host: '127.0.0.1', port: 0 });
after(async () => {
  mock.timers.reset();
  mock.restoreAll();
  await app.close();
  await close();
});
beforeEach(() => {
  held.clear();
  discarded = 0;
  outcome = 'done';
});

const FORM = 'multipart/form-data; boundary=b';
const filePart = (content: string, name = 'text', rest = '; filename="a.txt"') =>
  `--b\r\nContent-Disposition: form-data; name="${name}"${rest}\r\n\r\n${content}\r\n`;
const field = (name: string, value: string) =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const END = '--b--\r\n';

async function send(body: string, headers: Record<string, string> = {}, path = '/v1/texts') {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: 'Bearer owner', 'content-type': FORM, ...headers },
    body: Buffer.from(body, 'latin1'),
  });
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into bodies of every shape.
  return { status: response.status, body: (await response.json()) as any };
}

function assertRefusal({ status, body }: Awaited<ReturnType<typeof send>>, code: string, param: string | null): void {
  assert.deepEqual(
    [status, body.error?.code, body.error?.param],
    [smallErrors[code as keyof typeof smallErrors].status, code, param],
    JSON.stringify(body),
  );
}

describe('a form', () => {
  test('may have its fields before and behind the file, and others that nobody asked for', async () => {
    const { status, body } = await send(
      field('tone', 'grave') + filePart('hello') + field('pages', '12') + field('extra[a]', 'x') + END,
    );
    assert.deepEqual([status, body], [200, { text: 'hello', filename: 'a.txt', tone: 'grave', pages: 12 }]);
    assert.equal(held.size, 1);
  });

  test('may hold a file of just the limit, in one piece or many', async () => {
    const { status, body } = await send(filePart('x'.repeat(MAX_BYTES)) + END);
    assert.deepEqual([status, body.text.length], [200, MAX_BYTES]);
  });

  test('of several fields with one name, the last counts', async () => {
    assert.equal((await send(field('tone', 'a') + filePart('') + field('tone', 'b') + END)).body.tone, 'b');
  });

  for (const [disposition, filename] of [
    ["; filename*=UTF-8''gr%C3%BC%C3%9Fe.txt", 'grüße.txt'],
    [`; filename="${Buffer.from('grüße.txt').toString('latin1')}"`, 'grüße.txt'],
    ['; filename=""', ''],
  ] as const) {
    test(`names its file with ${JSON.stringify(disposition)}`, async () => {
      const { status, body } = await send(filePart('x', 'text', disposition) + END);
      assert.deepEqual([status, body.filename], [200, filename], JSON.stringify(body));
    });
  }

  test('leaves its connection to the next request', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, (_, at) => send(filePart(`${at}`) + END)));
    assert.deepEqual(answers.map(({ body }) => body.text).sort(), ['0', '1', '2', '3', '4', '5', '6', '7']);
  });
});

describe('a form is refused, and nothing of it stays', () => {
  const many = Array.from({ length: MAX_FIELDS + 1 }, (_, at) => field(`f${at}`, '1')).join('');
  const refusals: Readonly<Record<string, readonly [body: string, param: string | null]>> = {
    'without a file': [field('tone', 'a') + END, 'text'],
    'that is empty': [END, 'text'],
    'that has no bytes': ['', 'text'],
    'with text in the place of the file': [field('text', 'hello') + END, 'text'],
    'with two files': [filePart('a') + filePart('b') + END, 'text'],
    'with another file': [filePart('a', 'other') + END, 'text'],
    'with a field that does not validate, before the file': [
      field('tone', 'far too long') + filePart('a') + END,
      'tone',
    ],
    'with a field that does not validate, behind it': [filePart('a') + field('pages', 'x') + END, 'pages'],
    'with a field that is too long': [filePart('a') + field('tone', 'x'.repeat(MAX_FIELD_BYTES + 1)) + END, 'tone'],
    'with too many fields': [many + filePart('a') + END, null],
    'with too many fields behind the file': [filePart('a') + many + END, null],
    'with a field named after the prototype': [filePart('a') + field('__proto__', '{}') + END, null],
    'that ends inside of its file': [filePart('a').slice(0, -2), null],
    'that ends behind its file': [filePart('a'), null],
    'that ends inside of a part’s headers': ['--b\r\nContent-Disp', null],
    'without its boundary': ['hello', null],
    'with a field of JSON that nests deep': [
      `--b\r\nContent-Disposition: form-data; name="deep"\r\nContent-Type: application/json\r\n\r\n${'['.repeat(8_000)}${']'.repeat(8_000)}\r\n${filePart('a')}${END}`,
      'deep',
    ],
  };
  for (const [what, [body, param]] of Object.entries(refusals)) {
    test(what, { timeout: 60_000 }, async () => {
      assertRefusal(await send(body), 'invalid_request', param);
      assert.equal(held.size, 0);
    });
  }

  test('whose file is larger than the limit, also where the length is not announced', async () => {
    assertRefusal(await send(filePart('x'.repeat(MAX_BYTES + 1)) + END), 'payload_too_large', 'text');
    const chunk = `8000\r\n${'x'.repeat(0x8000)}\r\n`;
    const first = filePart('').slice(0, -2);
    const head = [...rawHead(), 'Transfer-Encoding: chunked'];
    const start = `${first.length.toString(16)}\r\n${first}\r\n`;
    const answer = await sendRaw(url, head, start + chunk.repeat(40));
    assert.deepEqual([answer.status, answer.body.error.code], [413, 'payload_too_large']);
    assert.equal(held.size, 0);
  });

  test('whose length is announced as more than the limit, before it is sent', async () => {
    const answer = await sendRaw(url, [...rawHead(), 'Content-Length: 3000000000']);
    assert.deepEqual([answer.status, answer.body.error.code], [413, 'payload_too_large']);
  });

  test('that is nothing but filling before its first part', async () => {
    const chunk = `8000\r\n${'x'.repeat(0x8000)}\r\n`;
    const answer = await sendRaw(url, [...rawHead(), 'Transfer-Encoding: chunked'], chunk.repeat(40));
    assert.deepEqual([answer.status, answer.body.error.code], [413, 'payload_too_large']);
  });

  for (const [what, sent] of [
    ['before its file', '--b\r\nContent-Disp'],
    ['inside of its file', filePart('a').slice(0, -2)],
    ['behind its file', filePart('a')],
  ] as const) {
    test(`that falls silent ${what}`, { timeout: 60_000 }, async () => {
      const answer = await untilTooSlow(sendRaw(url, [...rawHead(), 'Content-Length: 5000'], sent));
      assert.deepEqual([answer.status, answer.body.error.code], [408, 'invalid_request']);
      assert.match(answer.body.error.message, /came too slowly/);
      assert.equal(held.size, 0);
    });
  }

  test('whose sender goes away', { timeout: 60_000 }, async () => {
    const { port, hostname } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write(`${rawHead().join('\r\n')}\r\nHost: x\r\nContent-Length: 5000\r\n\r\n${filePart('a')}`);
    while (arriving === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    socket.destroy();
    while (arriving > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(held.size, 0);
  });

  for (const [what, headers, param] of [
    ['as JSON', { 'content-type': 'application/json' }, 'Content-Type'],
    ['as a form of another kind', { 'content-type': 'application/x-www-form-urlencoded' }, 'Content-Type'],
    ['without a boundary', { 'content-type': 'multipart/form-data' }, null],
    ['compressed', { 'content-encoding': 'gzip' }, 'Content-Encoding'],
    ['with a key that is none', { 'idempotency-key': 'x'.repeat(300) }, 'Idempotency-Key'],
  ] as const) {
    test(what, async () => {
      assertRefusal(await send(filePart('a') + END, headers), 'invalid_request', param);
      assert.deepEqual([held.size, discarded], [0, 0]);
    });
  }
});

describe('before a form is read', () => {
  const unsent = (token: string) =>
    sendRaw(url, [
      'POST /v1/texts HTTP/1.1',
      `Authorization: ${token}`,
      `Content-Type: ${FORM}`,
      'Content-Length: 5000',
    ]);

  test('the token and the posture are checked', async () => {
    assert.equal((await unsent('nobody')).status, 401);
    assert.equal((await unsent('Bearer guest')).status, 403);
  });

  test('the budget is checked', async () => {
    const limited = await createService(optionsFor(1));
    try {
      const address = await limited.listen({ host: '127.0.0.1', port: 0 });
      const head = [...rawHead(), 'Content-Length: 5000'];
      assert.equal((await untilTooSlow(sendRaw(address, head, filePart('a')))).status, 408);
      assert.equal((await sendRaw(address, head)).status, 429);
    } finally {
      await limited.close();
    }
  });
});

describe('what was stored', () => {
  test('is discarded when the handler refuses', async () => {
    outcome = 'refuse';
    assertRefusal(await send(filePart('a') + END), 'not_found', null);
    assert.deepEqual([held.size, discarded], [0, 1]);
  });

  test('is left where nobody knows whether the transaction was committed', async () => {
    outcome = 'break';
    assertRefusal(await send(filePart('a') + END), 'internal_error', null);
    assert.deepEqual([held.size, discarded], [1, 0]);
  });
});

describe('a form with several files', () => {
  const sendAll = (body: string) => send(body, {}, '/v1/albums');

  test('has each of them stored, in their order, with fields between', async () => {
    const body = filePart('a') + field('tone', 'grave') + filePart('b', 'text[]') + filePart('c') + END;
    const answer = await sendAll(body);
    assert.deepEqual([answer.status, answer.body], [200, { texts: ['a', 'b', 'c'], first: 'a' }]);
    assert.equal(held.size, 3);
  });

  test('may hold one', async () => {
    assert.deepEqual((await sendAll(filePart('a') + END)).body.texts, ['a']);
  });

  const refusals: Readonly<Record<string, readonly [body: string, code: string, param: string | null]>> = {
    'more files than it may hold': ['abcd'.replaceAll(/./g, (one) => filePart(one)) + END, 'invalid_request', 'text'],
    'no file': [field('tone', 'a') + END, 'invalid_request', 'text'],
    'a file of another name': [filePart('a') + filePart('b', 'other') + END, 'invalid_request', 'text'],
    'a field that does not validate': [
      filePart('a') + filePart('b') + field('tone', 'far too long') + END,
      'invalid_request',
      'tone',
    ],
    'a file that is too large': [
      filePart('a') + filePart('x'.repeat(MAX_BYTES + 1)) + END,
      'payload_too_large',
      'text',
    ],
    'files that are too large together': [
      filePart('x'.repeat(MAX_BYTES)) + filePart('x'.repeat(MAX_TOTAL_BYTES - MAX_BYTES + 1)) + END,
      'payload_too_large',
      'text',
    ],
    'no end': [filePart('a') + filePart('b'), 'invalid_request', null],
  };
  for (const [what, [body, code, param]] of Object.entries(refusals)) {
    test(`and ${what} is refused, and none of them stays`, async () => {
      assertRefusal(await sendAll(body), code, param);
      assert.equal(held.size, 0);
    });
  }

  test('has all of them discarded when the handler refuses', async () => {
    outcome = 'refuse';
    assertRefusal(await sendAll(filePart('a') + filePart('b') + END), 'not_found', null);
    assert.deepEqual([held.size, discarded], [0, 2]);
  });

  test('is described as a list', async () => {
    // biome-ignore lint/suspicious/noExplicitAny: the document is what is looked into.
    const document = (await (await fetch(`${url}/openapi.json`)).json()) as any;
    const { schema } = document.paths['/v1/albums'].post.requestBody.content['multipart/form-data'];
    assert.deepEqual([schema.properties.text.type, schema.properties.text.maxItems], ['array', MAX_FILES]);
  });
});

describe('a form with fields of JSON', () => {
  const sendSettings = (body: string) => send(filePart('a') + body + END, {}, '/v1/settings');
  const accepted = async (body: string) => {
    const answer = await sendSettings(body);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body.fields;
  };

  test('has them parsed, and others left as they are', async () => {
    assert.deepEqual(await accepted(field('options', '{"deep": true}') + field('name', '12')), {
      options: { deep: true },
      name: '12',
    });
    const announced = `--b\r\nContent-Disposition: form-data; name="options"\r\nContent-Type: application/json\r\n\r\n{"deep":false}\r\n`;
    assert.deepEqual(await accepted(announced), { options: { deep: false } });
  });

  test('takes a text that is no JSON as text', async () => {
    assert.deepEqual(await accepted(field('color', 'dark red')), { color: 'dark red' });
    assert.deepEqual(await accepted(field('color', '"dark red"')), { color: 'dark red' });
  });

  for (const [value, param] of [
    ['{"deep": "true"}', 'options.deep'],
    ['{"deep": 1}', 'options.deep'],
    ['{"other": 1}', 'options.other'],
    ['{"deep": true', 'options'],
    [`${'['.repeat(101)}${']'.repeat(101)}`, 'options'],
    ['true', 'options'],
  ] as const) {
    test(`refuses ${value.slice(0, 20)}, and nothing stays`, async () => {
      assertRefusal(await sendSettings(field('options', value)), 'invalid_request', param);
      assert.equal(held.size, 0);
    });
  }

  test('takes them up to its own limit, which a refusal names', async () => {
    const largest = `{"note":"${'x'.repeat(LARGE_FIELD_BYTES - 11)}"}`;
    assert.equal((await accepted(field('options', largest))).options.note.length, LARGE_FIELD_BYTES - 11);
    const answer = await sendSettings(field('options', `${largest} `));
    assertRefusal(answer, 'invalid_request', 'options');
    assert.match(answer.body.error.message, new RegExp(`${LARGE_FIELD_BYTES} bytes`));
  });
});

describe('a target that combines', () => {
  const BARE = { 'content-type': 'application/zip; charset=x' };
  const sendBundle = (body: string, headers = {}) => send(body, headers, '/v1/bundles');

  test('takes either name, one file or several, and keeps folders', async () => {
    const form = filePart('1', 'texts[]', '; filename="a/b/c.txt"') + filePart('2', 'text', '; filename="../d"') + END;
    const { status, body: json } = await sendBundle(form);
    assert.deepEqual([status, json.text, json.files], [200, 'a/b/c.txt=1,../d=2', 1]);
    assert.deepEqual([held.size, discarded], [1, 2]);
  });

  test('takes a body of the bare type as the file', async () => {
    const { status, body: json } = await sendBundle('PK', BARE);
    assert.deepEqual([status, json.text, json.mediaType], [200, '=PK', 'application/zip']);
    const large = 'x'.repeat(MAX_BYTES);
    assert.equal((await sendBundle(large, BARE)).body.text.length, MAX_BYTES + 1);
    assertRefusal(await sendBundle(`${large}x`, BARE), 'payload_too_large', 'texts');
    assertRefusal(await sendBundle('PK', { 'content-type': 'application/json' }), 'invalid_request', 'Content-Type');
    // Another operation takes no such body.
    assertRefusal(await send('PK', BARE), 'invalid_request', 'Content-Type');
  });

  test('what it refuses to combine is discarded, and so is what the handler refuses', async () => {
    assertRefusal(await sendBundle(filePart('a', 'text') + filePart('bad', 'text') + END), 'invalid_request', 'texts');
    assert.deepEqual([held.size, discarded], [0, 2]);
    outcome = 'refuse';
    assertRefusal(await sendBundle('PK', BARE), 'not_found', null);
    assert.equal(held.size, 0);
  });

  test('a bare body that breaks off leaves nothing', async () => {
    const head = ['POST /v1/bundles HTTP/1.1', 'Host: h', 'Authorization: Bearer owner', 'Content-Length: 100'];
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write(`${[...head, 'Content-Type: application/zip'].join('\r\n')}\r\n\r\nhalf`);
    while (arriving === 0) await new Promise((resolve) => setImmediate(resolve));
    socket.destroy();
    while (arriving > 0) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(held.size, 0);
  });
});

function rawHead(): string[] {
  return ['POST /v1/texts HTTP/1.1', 'Authorization: Bearer owner', `Content-Type: ${FORM}`];
}
