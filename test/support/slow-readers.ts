/** Readers of a run's stream that read nothing until it is over. */
import assert from 'node:assert/strict';
import http from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { TestPlatform } from './platform.ts';
import { collectFrames } from './read-frames.ts';
import { assemble, makeSmith } from './turns.ts';

const READERS = 4;
/** Of a frame with one word. */
const WIRE_BYTES_A_WORD = 170;

/** Four readers of a run of so many words get all of it in the end. Resolves to the bytes that the server kept for them meanwhile. */
export async function readSlowly(platform: TestPlatform, words: number): Promise<{ grown: number; wireBytes: number }> {
  const question = `Write ${words} words`;
  // What a run of this size leaves behind by itself: caches, buffers of connections, compiled code.
  const alone = await makeSmith(platform);
  const atFirst = heapBytes();
  await alone.settled(await alone.begin(question));
  const unread = Math.max(0, heapBytes() - atFirst);

  const smith = await makeSmith(platform);
  const runId = await smith.begin(question);
  const open = () => openSlowly(`${platform.url}${smith.runs}/${runId}/events`, smith.project.token);
  const responses = await Promise.all(Array.from({ length: READERS }, open));
  const before = heapBytes();
  const run = await smith.settled(runId);
  const grown = heapBytes() - before - unread;
  const expected = run.output.content;
  assert.equal(expected.split(' ').length, words);
  for (const response of responses) {
    const frames = await collectFrames(response.resume());
    assert.equal(assemble(frames).text === expected, true, 'the reader got another text');
    assert.equal(frames.at(-1)?.event, 'run.completed');
  }
  return { grown, wireBytes: words * WIRE_BYTES_A_WORD };
}

/** A response of which nothing is read until `resume`: the socket fills up. */
async function openSlowly(url: string, token: string): Promise<{ resume: () => Response }> {
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
  http.get(url, { headers: { authorization: `Bearer ${token}` } }, resolve).on('error', reject);
  const message = await promise;
  return { resume: () => ({ body: message }) as unknown as Response };
}

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

function heapBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
