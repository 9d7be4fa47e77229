/** The program of the child processes that read documents, one at a time. What goes wrong in a parser ends here. */
import { Chunker } from './chunker.ts';
import { type DocumentChunk, DocumentError } from './document.ts';
import { DocumentInput } from './document-input.ts';
import { extractText } from './extract-text.ts';
import type { FromReader, ReadLimits, ToReader } from './protocol.ts';

const CHUNKS_PER_BATCH = 64;
/** A batch that a few long chunks fill goes out sooner, so that no message is large. */
const CHARACTERS_PER_BATCH = 262_144;

type Open = Extract<ToReader, { kind: 'open' }>;

/** How the reading hands out what it has to say, and what it goes on with: both while somebody waits for it. */
let say: PromiseWithResolvers<FromReader> | undefined;
let goOn: ((message: ToReader) => void) | undefined;

/** Each message is the answer to the last one, see protocol.ts. */
export function answer(message: ToReader): Promise<FromReader> {
  say = Promise.withResolvers<FromReader>();
  if (message.kind === 'open') {
    readDocument(message).then(
      (last) => say?.resolve(last),
      (error: unknown) => say?.reject(error),
    );
  } else goOn?.(message);
  return say.promise;
}

function ask(message: FromReader): Promise<ToReader> {
  return new Promise((resolve) => {
    goOn = resolve;
    say?.resolve(message);
  });
}

async function readDocument(open: Open): Promise<FromReader> {
  try {
    for await (const batch of readChunks(open)) await ask({ kind: 'chunks', chunks: batch });
    return { kind: 'done' };
  } catch (error) {
    // Anything else is a defect of this program: the process ends with it.
    if (!(error instanceof DocumentError)) throw error;
    return { kind: 'failed', code: error.code, message: error.message };
  }
}

async function* readChunks({ filename, mediaType, chunking, limits }: Open): AsyncGenerator<DocumentChunk[]> {
  let bytes = 0;
  const input = new DocumentInput(async () => {
    const reply = await ask({ kind: 'read' });
    const block = reply.kind === 'bytes' ? reply.bytes : undefined;
    bytes += block?.length ?? 0;
    return block;
  });
  const chunker = new Chunker(chunking);
  const batches = new Batches();
  let characters = 0;
  for await (const text of extractText(input, filename, mediaType, limits)) {
    characters += text.length;
    checkLength(characters, bytes, limits);
    for (const chunk of chunker.push(clean(text))) yield* batches.add(chunk);
  }
  for (const chunk of chunker.finish()) yield* batches.add(chunk);
  yield* batches.rest();
  if (chunker.blank) throw new DocumentError('invalid_file', 'The file has no text in it. Send a file that has text.');
}

/** A few bytes may stand for any amount of text: a table's header is repeated for every row, and archives unpack. */
function checkLength(characters: number, bytes: number, { textCharacters, textCharactersPerByte }: ReadLimits): void {
  if (characters <= textCharacters + bytes * textCharactersPerByte) return;
  throw new DocumentError(
    'invalid_file',
    `The file gives more text than a file of its size may: ${textCharacters} characters, and ${textCharactersPerByte} ` +
      'more for each byte. It may be damaged; if not, split it up.',
  );
}

class Batches {
  #batch: DocumentChunk[] = [];
  #characters = 0;

  *add(chunk: DocumentChunk): Generator<DocumentChunk[]> {
    this.#batch.push(chunk);
    this.#characters += chunk.text.length;
    if (this.#batch.length >= CHUNKS_PER_BATCH || this.#characters >= CHARACTERS_PER_BATCH) yield* this.rest();
  }

  *rest(): Generator<DocumentChunk[]> {
    const batch = this.#batch;
    this.#batch = [];
    this.#characters = 0;
    if (batch.length > 0) yield batch;
  }
}

/** PostgreSQL takes neither NUL nor halves of surrogate pairs; documents and their parsers give both at times. */
function clean(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '') : text).toWellFormed();
}
