/** The thread of the built-in model: takes requests, answers with vectors. See builtin-embedder.ts for the other end. */
import { setImmediate as yieldToMessages } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { EncodingQueue, type QueuedJob } from './encoding-queue.ts';
import { loadSentenceEncoder } from './sentence-encoder.ts';

export type EmbedWorkerRequest =
  | ({ readonly type: 'embed' } & QueuedJob)
  | { readonly type: 'cancel'; readonly id: number };

/** `vectors` holds every vector of the request after the other. */
export interface EmbedWorkerReply {
  readonly id: number;
  readonly vectors: Float32Array<ArrayBuffer>;
  readonly tokens: number;
}

const port = parentPort;
if (port === null) throw new Error('This module runs in a worker thread.');

// A failure of the model ends the thread, which the other end sees and mends.
const queue = loadSentenceEncoder().then(
  (encoder) =>
    new EncodingQueue(encoder, (id, { vectors, tokens }) => {
      const reply: EmbedWorkerReply = { id, vectors: new Float32Array(vectors), tokens };
      port.postMessage(reply, [reply.vectors.buffer]);
    }),
);
let running = false;

port.on('message', async (request: EmbedWorkerRequest) => {
  const jobs = await queue;
  if (request.type === 'cancel') jobs.remove(request.id);
  else jobs.add(request);
  if (running) return;
  running = true;
  while (!jobs.empty) {
    await jobs.runPass();
    // A pass leaves no turn of the loop to the messages that came meanwhile.
    await yieldToMessages();
  }
  running = false;
});
