/**
 * The memory of a server while files are uploaded and downloaded that are larger than any memory they may take. The server is a
 * process of its own: its memory is told from the sender's.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { ServerProcess } from '../boot/server-process.ts';
import type { Client } from '../support/platform.ts';
import { MIB, UploadSender } from './upload-sender.ts';

const LIMIT = 300 * MIB;
const STORED = 256 * MIB;
const FAR_TOO_LARGE = 2048 * MIB;
/** The first start of an embedded database on a busy machine, and a few uploads. */
const BEFORE = { timeout: 400_000 };
const READERS_WAIT_MS = 500;
/**
 * Half of the file. Up to 64 MiB of buffers that nobody holds any more, beside its young objects, V8 lets gather before it looks
 * for garbage, and more while its threads get no processor; that is the same for a file of any size.
 */
const MAX_GROWTH = STORED / 2;
const MAX_WARM_UPS = 25;

const cleanups: (() => Promise<void>)[] = [];
let sender: UploadSender;
let server: ServerProcess;
let tenant: Client;
/** The most that the server took for small files. */
let warmBytes = 0;
before(async () => {
  sender = await UploadSender.start({ after: (work) => void cleanups.unshift(work) }, LIMIT);
  ({ server, tenant } = sender);
  // What the first requests load stays: it is no growth of an upload.
  await warmUp();
}, BEFORE);
after(async () => {
  for (const work of cleanups) await work();
});

describe('the memory of the server stays where it was', { skip: process.platform !== 'linux' }, () => {
  test('while it stores a file of 256 MiB, and gives it back', { timeout: 120_000 }, async () => {
    const watch = watchMemory(server.pid);
    const { status, body } = await sender.sendFile(STORED, 'announced');
    assert.deepEqual([status, body.bytes, body.purpose], [200, STORED, 'evals'], JSON.stringify(body));
    const response = await tenant.open('GET', `/v1/files/${body.id}/content`);
    let received = 0;
    for await (const chunk of response.body ?? []) received += (chunk as Uint8Array).byteLength;
    assert.equal(received, STORED);
    assertBounded(watch.stop());
    assert.equal((await tenant.delete(`/v1/files/${body.id}`)).status, 200);
  });

  for (const length of ['announced', 'unannounced'] as const) {
    test(`while it refuses one of 2 GiB whose length is ${length}`, { timeout: 120_000 }, async () => {
      const watch = watchMemory(server.pid);
      const { status, body, sentBytes } = await sender.sendFile(FAR_TOO_LARGE, length);
      assert.deepEqual([status, body.error.code, body.error.param], [413, 'payload_too_large', 'file']);
      assert.ok(sentBytes < FAR_TOO_LARGE, 'the refusal came before the end');
      assertBounded(watch.stop());
      await sender.assertNothingLeft();
    });
  }

  test('while a reader who reads nothing holds a download open', { timeout: 120_000 }, async () => {
    const { status, body } = await sender.sendFile(100 * MIB, 'announced');
    assert.equal(status, 200, JSON.stringify(body));
    const watch = watchMemory(server.pid);
    const sockets = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const socket = await sender.open();
        socket.write(`GET /v1/files/${body.id}/content HTTP/1.1\r\n${sender.headers()}\r\n`);
        await once(socket, 'readable');
        return socket;
      }),
    );
    await wait(READERS_WAIT_MS);
    assertBounded(watch.stop());
    for (const socket of sockets) socket.destroy();
    assert.equal((await tenant.delete(`/v1/files/${body.id}`)).status, 200);
  });
});

/** Small files until the server's memory has stopped growing: what first requests, and first rounds of its workers, load. */
async function warmUp(): Promise<void> {
  for (let [round, settled] = [0, 0]; round < MAX_WARM_UPS && settled < 4; round += 1) {
    const { body } = await sender.sendFile(20 * MIB, 'announced');
    await (await tenant.open('GET', `/v1/files/${body.id}/content`)).arrayBuffer();
    await tenant.delete(`/v1/files/${body.id}`);
    const resident = process.platform === 'linux' ? readResidentBytes(server.pid) : 0;
    settled = resident <= warmBytes ? settled + 1 : 0;
    warmBytes = Math.max(warmBytes, resident);
  }
}

function readResidentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

/** Samples resident memory; answers with where it began and its highest. */
function watchMemory(pid: number): { stop(): { readonly first: number; readonly highest: number } } {
  const read = () => readResidentBytes(pid);
  // What small files take has been given back in part.
  const first = Math.max(warmBytes, read());
  let highest = first;
  const timer = setInterval(() => {
    highest = Math.max(highest, read());
  }, 10);
  return {
    stop() {
      clearInterval(timer);
      return { first, highest: Math.max(highest, read()) };
    },
  };
}

function assertBounded({ first, highest }: { readonly first: number; readonly highest: number }): void {
  const grown = highest - first;
  assert.ok(grown < MAX_GROWTH, `grew by ${Math.round(grown / MIB)} MiB`);
}
