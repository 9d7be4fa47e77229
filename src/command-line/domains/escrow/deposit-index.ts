/**
 * What a deposit said, beside it in `….xml.index`: which deposit it is, and the hash of each of its objects, in their order. The next one is
 * compared with it line by line, so that neither has to fit into memory.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { CommandError } from '../../command-error.ts';

export const INDEX_ENDING = '.index';

export type DepositType = 'full' | 'diff' | 'incr';

export interface DepositHeader {
  readonly id: string;
  readonly type: DepositType;
  readonly watermark: string;
  readonly iana_id: string;
}

/** Names, each with the hosts below it, then contacts: in the order in which they are read. */
export type Section = 'names' | 'contacts';
const SECTIONS: readonly Section[] = ['names', 'contacts'];

export interface IndexedObject {
  readonly section: Section;
  /** Of a host, the name that it lies below, a space, and its own. */
  readonly key: string;
  readonly hash: string;
}

export function hashOfObject(xml: string): string {
  return createHash('sha256').update(xml).digest('base64url').slice(0, 22);
}

/** Objects have to be added in the order of their sections and keys. */
export class IndexWriter {
  readonly #part: FileHandle;
  #lines: string;

  constructor(part: FileHandle, header: DepositHeader) {
    this.#part = part;
    this.#lines = `${JSON.stringify(header)}\n`;
  }

  add({ hash, key, section }: IndexedObject): void {
    this.#lines += `${section}\t${key}\t${hash}\n`;
  }

  async flush(): Promise<void> {
    await this.#part.appendFile(this.#lines);
    this.#lines = '';
  }
}

/** Read once, from its beginning to its end. */
export class IndexReader {
  readonly header: DepositHeader;
  readonly #file: string;
  readonly #lines: AsyncIterator<string>;
  #next: IndexedObject | undefined;

  private constructor(file: string, header: DepositHeader, lines: AsyncIterator<string>) {
    this.#file = file;
    this.header = header;
    this.#lines = lines;
  }

  /** Throws `CommandError` for a file that is none. */
  static async open(file: string): Promise<IndexReader> {
    const lines = linesOf(file);
    const reader = new IndexReader(file, await readHeader(file, lines), lines);
    await reader.#advance();
    return reader;
  }

  /** The keys before this one that were there and are not any more, and the hash of this one, if it was there. */
  async advanceTo(section: Section, key: string): Promise<{ readonly gone: string[]; readonly hash?: string }> {
    const gone: string[] = [];
    for (let next = this.#next; next?.section === section && next.key <= key; next = this.#next) {
      await this.#advance();
      if (next.key === key) return { gone, hash: next.hash };
      gone.push(next.key);
    }
    return { gone };
  }

  /** What is left of the section. */
  async restOf(section: Section): Promise<string[]> {
    const gone: string[] = [];
    for (let next = this.#next; next?.section === section; next = this.#next) {
      gone.push(next.key);
      await this.#advance();
    }
    return gone;
  }

  async close(): Promise<void> {
    await this.#lines.return?.();
  }

  async #advance(): Promise<void> {
    const { done, value } = await this.#lines.next();
    if (done === true) {
      this.#next = undefined;
      return;
    }
    const [name, key, hash] = value.split('\t');
    const section = SECTIONS.find((known) => known === name);
    if (section === undefined || key === undefined || hash === undefined) throw isNone(this.#file);
    this.#next = { section, key, hash };
  }
}

async function* linesOf(file: string): AsyncGenerator<string, undefined> {
  try {
    yield* createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY });
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function readHeader(file: string, lines: AsyncIterator<string>): Promise<DepositHeader> {
  const { value } = await lines.next();
  try {
    const header = JSON.parse(String(value)) as Partial<DepositHeader>;
    const { iana_id, id, type, watermark } = header;
    if (id === undefined || type === undefined || watermark === undefined || iana_id === undefined) throw isNone(file);
    return { id, type, watermark, iana_id };
  } catch (error) {
    throw error instanceof CommandError ? error : isNone(file);
  }
}

function isNone(file: string): CommandError {
  return new CommandError(
    `${file} is no index of a deposit. Name one that this command has written (….xml.index), or write a full deposit.`,
  );
}

/**
 * The index of the deposit that a new one follows: of the latest in the folder, for an incremental one of the latest full one. One of the same
 * day and type does not count: it was refused, and is made anew. Throws `CommandError` where there is none.
 */
export async function findPrevious(
  folder: string,
  { ianaId, type, watermark }: { readonly ianaId: string; readonly type: DepositType; readonly watermark: Date },
): Promise<string> {
  const now = watermark.toISOString();
  let latest: { readonly file: string; readonly watermark: string } | undefined;
  for (const name of await readdir(folder)) {
    if (!name.startsWith(`${ianaId}_RDE_`) || !name.endsWith(`.xml${INDEX_ENDING}`)) continue;
    const file = join(folder, name);
    const lines = linesOf(file);
    const header = await readHeader(file, lines);
    await lines.return?.(undefined);
    const isSame = header.type === type && header.watermark.slice(0, 10) === now.slice(0, 10);
    if (isSame || header.watermark > now || (type === 'incr' && header.type !== 'full')) continue;
    if (latest === undefined || header.watermark > latest.watermark) latest = { file, watermark: header.watermark };
  }
  if (latest !== undefined) return latest.file;
  const what = type === 'incr' ? 'an earlier full deposit' : 'an earlier deposit';
  throw new CommandError(
    `${folder} has no index (….xml${INDEX_ENDING}) of ${what}. Write a full one first, or name the index with --previous.`,
  );
}
