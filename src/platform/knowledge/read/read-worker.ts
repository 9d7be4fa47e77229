/** The thread that reads documents, one at a time. What goes wrong in a parser, or never ends, ends here. */
import { parentPort } from 'node:worker_threads';
import { Chunker } from './chunker.ts';
import { type DocumentChunk, DocumentError } from './document.ts';
import { DocumentInput } from './document-input.ts';
import { extractText } from './extract-text.ts';
import type { FromWorker, ToWorker } from './protocol.ts';

const CHUNKS_PER_BATCH = 64;

type Open = Extract<ToWorker, { kind: 'open' }>;
type Ask = (message: FromWorker) => Promise<ToWorker>;

async function serve(): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error('read-worker.ts runs as a worker thread only');
  let answer: ((message: ToWorker) => void) | undefined;
  const next = (): Promise<ToWorker> =>
    new Promise((resolve) => {
      answer = resolve;
    });
  port.on('message', (message: ToWorker) => answer?.(message));
  const ask: Ask = (message) => {
    const answered = next();
    port.postMessage(message);
    return answered;
  };
  let message = await ask({ kind: 'ready' });
  for (;;) {
    if (message.kind !== 'open') throw new Error(`a document begins with "open", not with "${message.kind}"`);
    message = await ask(await readDocument(message, ask));
  }
}

async function readDocument(open: Open, ask: Ask): Promise<FromWorker> {
  try {
    for await (const batch of readChunks(open, ask)) await ask({ kind: 'chunks', chunks: batch });
    return { kind: 'done' };
  } catch (error) {
    // Anything else is a defect of this program: the thread ends with it.
    if (!(error instanceof DocumentError)) throw error;
    return { kind: 'failed', code: error.code, message: error.message };
  }
}

async function* readChunks({ filename, mediaType, chunking, limits }: Open, ask: Ask): AsyncGenerator<DocumentChunk[]> {
  const input = new DocumentInput(async () => {
    const reply = await ask({ kind: 'read' });
    return reply.kind === 'bytes' ? reply.bytes : undefined;
  });
  const chunker = new Chunker(chunking);
  let batch: DocumentChunk[] = [];
  for await (const text of extractText(input, filename, mediaType, limits)) {
    for (const chunk of chunker.push(clean(text))) {
      batch.push(chunk);
      if (batch.length < CHUNKS_PER_BATCH) continue;
      yield batch;
      batch = [];
    }
  }
  for (const chunk of chunker.finish()) {
    batch.push(chunk);
    if (batch.length < CHUNKS_PER_BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
  if (chunker.blank) throw new DocumentError('invalid_file', 'The file has no text in it. Send a file that has text.');
}

/** PostgreSQL takes neither NUL nor halves of surrogate pairs; documents and their parsers give both at times. */
function clean(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '') : text).toWellFormed();
}

await serve();
