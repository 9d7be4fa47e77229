/** Readers of a run's stream that read nothing until it is over. */
import assert from 'node:assert/strict';
import http from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { TestPlatform } from './platform.ts';
import { collectFrames } from './read-frames.ts';
import { assemble, makeSmith } from './turns.ts';

/** Of a frame with one word. */
const WIRE_BYTES_A_WORD = 170;

interface SlowReaders {
  /** Of the answer that they read. */
  readonly words: number;
  readonly readers: number;
}

/** They get all of it in the end. Resolves to how many bytes the server has grown by while nothing was read. */
export async function readSlowly(platform: TestPlatform, { words, readers }: SlowReaders): Promise<number> {
  const smith = await makeSmith(platform);
  const runId = await smith.begin(`Write ${words} words`);
  const open = () => openSlowly(`${platform.url}${smith.runs}/${runId}/events`, smith.project.token);
  const responses = await Promise.all(Array.from({ length: readers }, open));
  const before = heapBytes();
  const run = await smith.settled(runId);
  const grown = heapBytes() - before;
  const expected = run.output.content;
  assert.equal(expected.split(' ').length, words);
  for (const response of responses) {
    const frames = await collectFrames(response.resume());
    assert.equal(assemble(frames).text === expected, true, 'the reader got another text');
    assert.equal(frames.at(-1)?.event, 'run.completed');
  }
  return grown;
}

/** As `readSlowly`. Resolves to the bytes that the server kept for them meanwhile. */
export async function weighSlowReaders(
  platform: TestPlatform,
  slow: SlowReaders,
): Promise<{ grown: number; wireBytes: number }> {
  // What a run of this size leaves behind by itself: caches, buffers of connections, compiled code.
  const alone = await makeSmith(platform);
  const atFirst = heapBytes();
  await alone.settled(await alone.begin(`Write ${slow.words} words`));
  const unread = Math.max(0, heapBytes() - atFirst);
  return { grown: (await readSlowly(platform, slow)) - unread, wireBytes: slow.words * WIRE_BYTES_A_WORD };
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
