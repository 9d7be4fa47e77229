import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startOpenAiUpstream } from '../../../../test/fakes/openai-upstream.ts';
import { startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { makeSmith, makeUpstreamSmith, sentBody } from '../../../../test/support/turns.ts';
import { type BlobStore, BlobStoreUnavailableError } from '../../../kernel/blobs/blobs.ts';

const upstream = await startOpenAiUpstream();
const platform = await startPlatform();
after(async () => {
  await platform.close();
  await upstream.close();
});

const PNG = 'iVBORw0KGgo=';
const PDF = 'JVBERi0xLjQ=';
const asImage = (url: string) => ({ type: 'image_url', image_url: { url } });

type Part = Record<string, unknown>;

/** What a caller may write → what an OpenAI-compatible upstream gets. */
const parts: readonly [name: string, part: Part, sent: unknown][] = [
  ['text', { type: 'text', text: 'Hi' }, { type: 'text', text: 'Hi' }],
  ['input_text', { type: 'input_text', text: 'Hi' }, { type: 'text', text: 'Hi' }],
  ['output_text', { type: 'output_text', text: 'Hi' }, { type: 'text', text: 'Hi' }],
  ['an image’s address', asImage('https://example.com/a.png'), asImage('https://example.com/a.png')],
  ['an image as a data URL', asImage(`data:image/png;base64,${PNG}`), asImage(`data:image/png;base64,${PNG}`)],
  [
    'an image’s address as a plain string',
    { type: 'image_url', image_url: 'https://example.com/a.png' },
    asImage('https://example.com/a.png'),
  ],
  [
    'input_image',
    { type: 'input_image', image_url: `data:image/webp;base64,${PNG}` },
    asImage(`data:image/webp;base64,${PNG}`),
  ],
  ['image in base64', { type: 'image', data: PNG, media_type: 'image/gif' }, asImage(`data:image/gif;base64,${PNG}`)],
  [
    'a file in base64',
    { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` },
    { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` } },
  ],
  [
    'a file whose kind its name tells',
    { type: 'file', file: { filename: 'b.pdf', file_data: PDF } },
    { type: 'file', file: { filename: 'b.pdf', file_data: `data:application/pdf;base64,${PDF}` } },
  ],
  [
    'sound',
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
  ],
  [
    'sound without a format',
    { type: 'input_audio', data: 'AAAA' },
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
  ],
];

test('each kind of part reaches the upstream in its wire form, now and as history; what came inline is a file from then on', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  const given = parts.map(([, part]) => part);
  for (const [at, text] of [
    ['first', 'One'],
    ['again', 'Two'],
  ] as const) {
    upstream.respondWith({ type: 'answer', deltas: [text] });
    const input = at === 'first' ? [{ role: 'user', content: given }] : [{ role: 'user', content: 'And?' }];
    const { body } = await smith.project.post(smith.runs, { input, thread_id: 'main' });
    assert.equal(body.status, 'completed', JSON.stringify(body.error));
    if (at === 'first') await assertInput(smith.project, body.input[0].content, given);
    const [message] = sentBody(upstream).messages;
    assert.equal(message.role, 'user');
    for (const [index, [name, , sent]] of parts.entries()) {
      assert.deepEqual(message.content[index], sent, `${name}, ${at}`);
    }
  }
});

/** The run shows its input as it came, with a file's id in place of its bytes. */
async function assertInput(project: TestProject, shown: readonly Part[], given: readonly Part[]): Promise<void> {
  assert.equal(shown.length, given.length);
  const listed = (await project.get('/v1/files')).body.data;
  assert.deepEqual(listed, [], 'files of a conversation are in no list');
  for (const [index, part] of shown.entries()) {
    const inline = /base64,|"data":|"file_data":/.test(JSON.stringify(given[index]));
    if (!inline) {
      assert.deepEqual(part, given[index]);
      continue;
    }
    assert.match(String(part.file_id), /^file_/);
    assert.doesNotMatch(JSON.stringify(part), /base64/);
    const content = await project.get(`/v1/files/${part.file_id}/content`);
    assert.equal(content.status, 200);
    assert.ok([PNG, PDF, 'AAAA'].some((each) => Buffer.from(each, 'base64').toString() === content.text));
  }
}

test('an uploaded file is named by its id; one that is not there is refused', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  const asked = (file_id: string) => ({ input: [{ role: 'user', content: [{ type: 'input_file', file_id }] }] });
  upstream.respondWith({ type: 'answer', deltas: ['Seen'] });
  const inline = [{ type: 'input_file', filename: 'c.pdf', file_data: `data:application/pdf;base64,${PDF}` }];
  const first = await smith.project.post(smith.runs, { input: [{ role: 'user', content: inline }] });
  const fileId = first.body.input[0].content[0].file_id;
  upstream.respondWith({ type: 'answer', deltas: ['Seen again'] });
  const { body } = await smith.project.post(smith.runs, asked(fileId));
  assert.equal(body.status, 'completed', JSON.stringify(body.error));
  const file = { filename: 'c.pdf', file_data: `data:application/pdf;base64,${PDF}` };
  assert.deepEqual(sentBody(upstream).messages[0].content, [{ type: 'file', file }]);
  const missing = await smith.project.post(smith.runs, asked('file_01h00000000000000000000000'));
  assert.equal(missing.status, 422, missing.text);
  assert.deepEqual([missing.body.error.code, missing.body.error.param], ['invalid_input', 'input.0.content.0.file_id']);
});

test('a text is given to the model as text, and a file that is gone is named', async () => {
  const smith = await makeUpstreamSmith(platform, upstream);
  const part = { type: 'input_file', filename: 'notes.md', file_data: Buffer.from('# Notes').toString('base64') };
  const content = [{ type: 'text', text: 'What is this?' }, part];
  upstream.respondWith({ type: 'answer', deltas: ['Notes.'] });
  const { body } = await smith.project.post(smith.runs, { input: [{ role: 'user', content }], thread_id: 'main' });
  assert.equal(body.status, 'completed', JSON.stringify(body.error));
  assert.equal(sentBody(upstream).messages[0].content[1].text, '<file name="notes.md">\n# Notes\n</file>');
  const gone = await smith.project.delete(`/v1/files/${body.input[0].content[1].file_id}`);
  assert.equal(gone.status, 200, gone.text);
  upstream.respondWith({ type: 'answer', deltas: ['Gone.'] });
  await smith.ask('And now?', { thread_id: 'main' });
  const now = sentBody(upstream).messages[0].content[1].text;
  assert.equal(now, '[The file notes.md was here; it is deleted since.]');
});

test('a file whose store fails is not told to be deleted: the turn fails, and says so', async (t) => {
  const blobs: BlobStore = {
    ...platform.blobs,
    get: () => Promise.reject(new BlobStoreUnavailableError('the disk is broken')),
  };
  const broken = await startPlatform({ sharing: { db: platform.db, vault: platform.vault, blobs } });
  t.after(() => broken.close());
  const { project, runs, id } = await makeSmith(broken);
  const part = { type: 'input_file', filename: 'notes.md', file_data: Buffer.from('# Notes').toString('base64') };
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, part] }];
  const { body } = await project.post(runs, { input: messages });
  assert.deepEqual([body.status, body.error?.code], ['failed', 'storage_unavailable'], JSON.stringify(body));
  const completion = { model: 'builtin/demo', messages: [{ role: 'user', content: [{ type: 'file', file: part }] }] };
  const told = await project.post('/v1/chat/completions', completion, { 'ic-smith-id': id });
  assert.deepEqual([told.status, told.body.error?.code], [503, 'storage_unavailable'], told.text);
});

test('a file is named by the built-in model', async () => {
  const smith = await makeSmith(platform);
  const { body } = await smith.project.post(smith.runs, {
    input: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'input_file', filename: 'notes.pdf', file_data: Buffer.from('# Notes').toString('base64') },
        ],
      },
    ],
  });
  assert.match(body.output.content, /application\/pdf "notes\.pdf", 7 bytes/);
});

const invalid: readonly [name: string, part: unknown, param: string][] = [
  ['no object', 'text', 'input.0.content.0'],
  ['no type', { text: 'Hi' }, 'input.0.content.0.type'],
  ['an unknown type', { type: 'video', url: 'https://example.com' }, 'input.0.content.0.type'],
  ['text that is no string', { type: 'text', text: 5 }, 'input.0.content.0.text'],
  ['an image without an address', { type: 'image_url' }, 'input.0.content.0.image_url.url'],
  ['an address that is none', asImage('https://'), 'input.0.content.0'],
  ['an address of another scheme', asImage('ftp://example.com/a.png'), 'input.0.content.0'],
  ['a data URL that is not base64', asImage('data:image/png,abc'), 'input.0.content.0'],
  ['broken base64', asImage('data:image/png;base64,!!!!'), 'input.0.content.0'],
  ['empty base64', asImage('data:image/png;base64,'), 'input.0.content.0'],
  ['a file without content', { type: 'input_file', filename: 'a.pdf' }, 'input.0.content.0.file_data'],
  ['sound without content', { type: 'input_audio', input_audio: {} }, 'input.0.content.0.input_audio.data'],
];

test('a part that cannot be read is refused, naming it', async () => {
  const smith = await makeSmith(platform);
  for (const [name, part, param] of invalid) {
    const { status, body } = await smith.project.post(smith.runs, { input: [{ role: 'user', content: [part] }] });
    assert.deepEqual([status, body.error?.code, body.error?.param], [422, 'invalid_input', param], name);
  }
  const image = asImage('https://example.com/a.png');
  for (const role of ['assistant', 'system']) {
    const { body } = await smith.project.post(smith.runs, { input: [{ role, content: [image] }] });
    assert.deepEqual([body.error.code, body.error.param], ['invalid_input', 'input.0.content'], role);
  }
  const many = Array.from({ length: 101 }, () => ({ type: 'text', text: 'x' }));
  const { body } = await smith.project.post(smith.runs, { input: [{ role: 'user', content: many }] });
  assert.deepEqual([body.error.code, body.error.param], ['invalid_input', 'input.0.content']);
});

test('characters that the store cannot hold do not break a run', async () => {
  const smith = await makeSmith(platform);
  const { status, body } = await smith.ask('Nul \u0000 and half \ud83d here', { metadata: { 'k\u0000': '\udc00' } });
  assert.deepEqual([status, body.status], [201, 'completed']);
  assert.equal((await smith.get(body.id)).status, 'completed');
});

test('as much as a turn takes is taken', async () => {
  const smith = await makeSmith(platform);
  const input = Array.from({ length: 200 }, (_, n) => ({ role: 'user', content: `m${n}` }));
  const { status, body } = await smith.project.post(smith.runs, { input });
  assert.deepEqual([status, body.status, body.input.length], [201, 'completed', 200]);
});
