/** The child process of the built-in model: takes requests, answers with vectors. See builtin-embedder.ts for the other end. */
import { setImmediate as yieldToMessages } from 'node:timers/promises';
import { EncodingQueue, type QueuedJob } from './encoding-queue.ts';
import { loadSentenceEncoder } from './sentence-encoder.ts';

export type EmbedRequest =
  | ({ readonly type: 'embed' } & QueuedJob)
  | { readonly type: 'cancel'; readonly id: number }
  /** Answered between two passes: the model is at work and not stuck. */
  | { readonly type: 'ping' };

export interface EmbedReply {
  /** Every vector of the request after the other; none for what was cancelled, and for other requests. */
  readonly vectors: Float32Array;
  readonly tokens: number;
}

const NOTHING: EmbedReply = { vectors: new Float32Array(0), tokens: 0 };

/** Who waits for each request. */
const waiting = new Map<number, (reply: EmbedReply) => void>();
/** Loaded by the first request. A failure of the model ends the process, which the other end sees and mends. */
let opened: Promise<EncodingQueue> | undefined;
let running = false;

export async function answer(request: EmbedRequest): Promise<EmbedReply> {
  if (request.type === 'ping') return NOTHING;
  opened ??= openQueue();
  if (request.type === 'cancel') {
    (await opened).remove(request.id);
    settle(request.id, NOTHING);
    return NOTHING;
  }
  const { promise, resolve } = Promise.withResolvers<EmbedReply>();
  waiting.set(request.id, resolve);
  const queue = await opened;
  // It may have been cancelled while the model was loaded.
  if (waiting.has(request.id)) queue.add(request);
  await runPasses(queue);
  return promise;
}

async function openQueue(): Promise<EncodingQueue> {
  const encoder = await loadSentenceEncoder();
  return new EncodingQueue(encoder, (id, { vectors, tokens }) => settle(id, { vectors, tokens }));
}

async function runPasses(queue: EncodingQueue): Promise<void> {
  if (running) return;
  running = true;
  while (!queue.empty) {
    await queue.runPass();
    // A pass leaves no turn of the loop to the messages that came meanwhile, nor to the answers of those that are done.
    await yieldToMessages();
  }
  running = false;
}

function settle(id: number, reply: EmbedReply): void {
  waiting.get(id)?.(reply);
  waiting.delete(id);
}
