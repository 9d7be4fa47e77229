/** Uploads that are refused, that break off, or that are no form. The server is a process of its own, whose files the test looks at. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ServerProcess } from '../boot/server-process.ts';
import type { Client } from '../support/platform.ts';
import { FORM_HEAD, MIB, sendUntil, UploadSender, until } from './upload-sender.ts';

const TIMEOUT = { timeout: 120_000 };
const LIMIT = 16 * MIB;
/** More than a file may have and what the network holds by itself, some MiB on loopback. */
const TOO_LARGE = 96 * MIB;

const cleanups: (() => Promise<void>)[] = [];
let sender: UploadSender;
let server: ServerProcess;
let tenant: Client;
before(async () => {
  sender = await UploadSender.start({ after: (work) => void cleanups.unshift(work) }, LIMIT);
  ({ server, tenant } = sender);
}, TIMEOUT);
after(async () => {
  for (const work of cleanups) await work();
});

for (const length of ['announced', 'unannounced'] as const) {
  test(
    `an upload that is too large and whose length is ${length} is refused before its end, and leaves nothing`,
    TIMEOUT,
    async () => {
      const { status, body, sentBytes } = await sender.sendFile(TOO_LARGE, length);
      assert.deepEqual([status, body.error.code, body.error.param], [413, 'payload_too_large', 'file']);
      assert.ok(sentBytes < TOO_LARGE, 'the refusal came before the end');
      await sender.assertNothingLeft();
    },
  );
}

describe('an upload that breaks off', () => {
  test('an upload leaves nothing when its sender goes away', TIMEOUT, async () => {
    const socket = await sender.open();
    socket.write(`${sender.requestHead(`Content-Length: ${LIMIT}`)}${FORM_HEAD}`);
    await sendUntil(socket, 8 * MIB, 'announced');
    await until(() => sender.unfinished().length === 1);
    socket.destroy();
    await until(() => sender.unfinished().length === 0);
    await sender.assertNothingLeft();
  });

  test('an upload leaves nothing when its form ends without its last boundary', TIMEOUT, async () => {
    const content = `${FORM_HEAD}${'x'.repeat(1000)}`;
    const response = await fetch(`${server.url}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tenant.token}`, 'content-type': 'multipart/form-data; boundary=b' },
      body: content,
    });
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    assert.deepEqual([response.status, error.code], [422, 'invalid_request']);
    assert.match(error.message, /broke off/);
    await sender.assertNothingLeft();
  });

  test('an upload leaves nothing when it is NUL bytes in the place of a form', async () => {
    const response = await fetch(`${server.url}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tenant.token}`, 'content-type': 'multipart/form-data; boundary=b' },
      body: Buffer.alloc(MIB),
    });
    const { error } = (await response.json()) as { error: { code: string } };
    assert.deepEqual([response.status, error.code], [422, 'invalid_request']);
    await sender.assertNothingLeft();
  });
});

test('NUL bytes are content like any other, and none of a name', async () => {
  const form = new FormData();
  form.set('file', new Blob([Buffer.alloc(1000)]), 'a\0b.txt');
  const created = await tenant.post('/v1/files', form);
  assert.deepEqual([created.status, created.body.bytes, created.body.filename], [200, 1000, 'ab.txt'], created.text);
  const got = await tenant.open('GET', `/v1/files/${created.body.id}/content`);
  assert.deepEqual(Buffer.from(await got.arrayBuffer()), Buffer.alloc(1000));
  await tenant.delete(`/v1/files/${created.body.id}`);
});
