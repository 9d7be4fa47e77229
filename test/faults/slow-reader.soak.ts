/** Readers that stop reading a long stream, at a real server with real sockets in between. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { testServerUrl } from '../support/database.ts';
import { collectFrames } from '../support/read-frames.ts';
import { assemble, smithOf } from '../support/turns.ts';
import { openFleet } from './fleet.ts';

const WORDS = 100_000;
const QUESTION = `Write ${WORDS} words`;
const READERS = 10;
/**
 * Kept for them, the frames would be some 170 MB. The readers may cost half of that: what two equal runs leave to the garbage
 * collector differs by up to 40.
 */
const ALLOWED_MB = 85;
const SAMPLE_MS = 20;

test('readers that stop reading a stream of 100,000 words cost the server no memory, and get every character in the end', async (t) => {
  const fleet = await openFleet(t, { store: testServerUrl() === undefined ? 'embedded' : 'server', only: 'platform' });
  const server = await fleet.start();
  const project = fleet.project(server);
  const smith = smithOf(project, await project.createSmith());
  /** A run to its end, and the most memory that the server had meanwhile. */
  const measureRun = async (meanwhile: (runId: string) => Promise<void>) => {
    const runId = await smith.begin(QUESTION);
    await meanwhile(runId);
    let peakMb = 0;
    const run = smith.settled(runId);
    for (let rests = false; !rests; ) {
      peakMb = Math.max(peakMb, residentMb(server.pid));
      rests = await Promise.race([run.then(() => true), wait(SAMPLE_MS, false)]);
    }
    return { run: await run, peakMb };
  };

  // The first one grows the heap to what such a run needs.
  await measureRun(async () => {});
  const without = await measureRun(async () => {});
  const responses: IncomingMessage[] = [];
  t.after(() => responses.forEach((response) => void response.destroy()));
  const { run, peakMb } = await measureRun(async (runId) => {
    const path = `${server.url}${smith.runs}/${runId}/events`;
    responses.push(...(await Promise.all(Array.from({ length: READERS }, () => openUnread(path, project.token)))));
  });
  t.diagnostic(`peak of ${Math.round(without.peakMb)} MB without readers, ${Math.round(peakMb)} MB with ${READERS}`);
  assert.ok(peakMb - without.peakMb < ALLOWED_MB, `${Math.round(peakMb - without.peakMb)} MB more`);

  assert.equal(run.status, 'completed');
  assert.equal(run.output.content.split(' ').length, WORDS);
  for (const response of responses) {
    const frames = await collectFrames(new Response(Readable.toWeb(response) as ReadableStream));
    assert.equal(assemble(frames).text === run.output.content, true, 'a reader got another text');
    assert.equal(frames.at(-1)?.event, 'run.completed');
  }
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
});

/** A response of which nothing is read yet: once the socket is full, the server is held off. */
async function openUnread(url: string, token: string): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  get(url, { agent: false, headers: { authorization: `Bearer ${token}` } }, resolve).on('error', reject);
  return promise;
}

/** Resident memory of a process, in millions of bytes. */
function residentMb(pid: number): number {
  const file = `/proc/${pid}/status`;
  const text = existsSync(file)
    ? /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(file, 'utf8'))?.[1]
    : execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' });
  return (Number(text) * 1024) / 1e6;
}
