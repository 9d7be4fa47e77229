/**
 * Files in conversations. What comes inline is put into the file store, so that messages hold a reference and no bytes;
 * the bytes join the prompt for the length of a model call. Text is given to the model as text: few providers take it as
 * a file. Bytes become a file in the transaction that starts the turn: of a turn that is refused nothing stays.
 */
import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
} from '@ai-sdk/provider';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';
import type { JsonObject } from '../../tables.ts';
import type { StoredMessage } from '../turn.ts';
import type { InputMessage } from './parse-input.ts';

export interface AttachedFile {
  readonly id: string;
  readonly filename: string;
  readonly mediaType: string;
  readonly bytes: number;
}

/** Whose turn a file is for, and who names it. */
export interface FileReader {
  readonly projectId: string;
  readonly smithId: string;
  /** Null: an earlier run of the smith was given the files that it names. */
  readonly caller: ProjectCaller | null;
}

/** Bytes that came inline, and the file that they are to become. */
export interface InlineFile extends AttachedFile {
  /** Of the content, in hexadecimal. */
  readonly sha256: string;
}

/** The file store as turns use it. */
export interface TurnFiles {
  /** Undefined for a file that is not there, not for this smith, or that the caller could not get itself. */
  find(reader: FileReader, fileId: string): Promise<AttachedFile | undefined>;
  /** Stores bytes that came inline: no file before `claim`. Throws `payload_too_large` and `storage_unavailable`. */
  store(
    projectId: string,
    file: { readonly filename: string; readonly mediaType: string; readonly content: Uint8Array },
  ): Promise<InlineFile>;
  /** Makes them files that are reachable by their ids alone, in this transaction. Throws `payload_too_large`. */
  claim(tx: TenantTransaction, smithId: string, files: readonly InlineFile[]): Promise<void>;
  /** Removes those of the bytes that no transaction has made a file. Never throws: what it cannot remove is swept later. */
  discard(projectId: string, files: readonly InlineFile[]): Promise<void>;
  /** Throws `not_found` when the file is gone, `storage_unavailable` when its store does not give its bytes. */
  read(projectId: string, fileId: string): Promise<Uint8Array>;
}

/** The newest files of a prompt up to this much in all; older ones are only named. */
const MAX_PROMPT_FILE_BYTES = 32 * 1024 * 1024;
/** A text is given up to here. */
const MAX_ATTACHED_TEXT_CHARS = 200_000;

const BYTES_PER_TOKEN = 3;

/** Of one turn. OpenAI takes as many images in a request. */
const MAX_FILE_PARTS = 500;
const FILES_AT_ONCE = 8;

type UserContent = Extract<LanguageModelV4Message, { role: 'user' }>['content'];
type NewMessage = Pick<StoredMessage, 'role' | 'content' | 'tokens'>;

/** A file part as messages keep it. */
interface StoredFilePart {
  readonly type: 'file';
  readonly mediaType: string;
  readonly filename?: string;
  readonly data: { readonly type: 'stored'; readonly file_id: string; readonly bytes: number };
}

export interface AttachedInput {
  readonly input: InputMessage[];
  readonly messages: NewMessage[];
  /** What came inline: to be claimed with the turn, or discarded. */
  readonly inline: readonly InlineFile[];
}

/**
 * Stores the bytes that came inline and looks up the files that are named by their id. Gives the messages with references,
 * and the input as runs show it. Throws `invalid_input` for a file that is not there, `too_many_inputs` beyond
 * MAX_FILE_PARTS, and what `TurnFiles.store` throws; nothing is stored then.
 */
export async function attachFiles(
  files: TurnFiles,
  reader: FileReader,
  input: readonly InputMessage[],
  messages: readonly NewMessage[],
): Promise<AttachedInput> {
  const places = listFileParts(messages);
  const inline: InlineFile[] = [];
  const stored = new Map<string, StoredFilePart>();
  try {
    for (let first = 0; first < places.length; first += FILES_AT_ONCE) {
      const some = places.slice(first, first + FILES_AT_ONCE);
      // All of them come to their end before anything is discarded.
      const outcomes = await Promise.allSettled(
        some.map(async ({ part, at }) => {
          const reference = await storePart({ files, reader, inline }, part, at);
          if (reference !== undefined) stored.set(at, reference);
        }),
      );
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    }
  } catch (error) {
    await files.discard(reader.projectId, inline);
    throw error;
  }
  const attached = messages.map((message, index) => withReferences(message, input[index], index, stored));
  return { input: attached.map((each) => each.input), messages: attached.map((each) => each.message), inline };
}

interface FilePlace {
  readonly part: LanguageModelV4FilePart | StoredFilePart;
  /** Where the caller gave it: `input.0.content.1`. */
  readonly at: string;
}

/** Throws `too_many_inputs`. */
function listFileParts(messages: readonly NewMessage[]): FilePlace[] {
  const places = messages.flatMap(({ role, content }, index): FilePlace[] => {
    if (role !== 'user' || typeof content === 'string') return [];
    return (content as UserContent).flatMap((part, at) =>
      part.type === 'file' ? [{ part, at: placeOf(index, at) }] : [],
    );
  });
  if (places.length <= MAX_FILE_PARTS) return places;
  throw new ApiError('too_many_inputs', {
    param: 'input',
    message: `There are ${places.length} files and images, at most ${MAX_FILE_PARTS} fit into one turn.`,
  });
}

function placeOf(message: number, part: number): string {
  return `input.${message}.content.${part}`;
}

/** The message with references in place of its files, and the same as runs show it. */
function withReferences(
  message: NewMessage,
  given: InputMessage = { role: message.role, content: '' },
  index: number,
  stored: ReadonlyMap<string, StoredFilePart>,
): { input: InputMessage; message: NewMessage } {
  if (typeof given.content === 'string') return { input: given, message };
  const parts = given.content;
  if (message.role !== 'user') return { input: { ...given, content: parts.map(withoutFileId) }, message };
  const pairs = (message.content as UserContent).map((part, at) => {
    const reference = stored.get(placeOf(index, at));
    const shown = parts[at] ?? {};
    return reference === undefined
      ? { part, shown: withoutFileId(shown) }
      : { part: reference, shown: showStored(shown, reference) };
  });
  const content = pairs.map(({ part }) => part) as unknown as StoredMessage['content'];
  const tokens = pairs.reduce((sum, { part }) => sum + textTokens(part), message.tokens);
  return {
    input: { ...given, content: pairs.map(({ shown }) => shown) },
    message: { role: message.role, content, tokens },
  };
}

/** An id that stands where no file is looked for was not checked: whoever reads the input later must not take it for one that was. */
function withoutFileId(part: JsonObject): JsonObject {
  const { file_id: _, ...rest } = part;
  return rest;
}

interface Attaching {
  readonly files: TurnFiles;
  readonly reader: FileReader;
  /** Grows with every part that is stored. */
  readonly inline: InlineFile[];
}

/** Undefined for a part that names an address: it is the model's to fetch. */
async function storePart(
  { files, reader, inline }: Attaching,
  part: LanguageModelV4FilePart | StoredFilePart,
  at: string,
): Promise<StoredFilePart | undefined> {
  const { data, mediaType, filename } = part;
  if (data.type === 'stored') {
    const file = await files.find(reader, data.file_id);
    if (file === undefined) {
      const message =
        `\`${at}.file_id\` names no file that this token and this smith can read. Upload it with POST /v1/files, and ` +
        'refer to it with a token that has files:read.';
      throw new ApiError('invalid_input', { param: `${at}.file_id`, message });
    }
    return storedPart(file);
  }
  if (data.type !== 'data' || typeof data.data !== 'string') return undefined;
  const content = Buffer.from(data.data, 'base64');
  const file = await files.store(reader.projectId, { filename: filename ?? '', mediaType, content });
  inline.push(file);
  return storedPart(file, mediaType);
}

/** A file of the project as a part of a stored message. */
export function storedFilePart(file: {
  readonly fileId: string;
  readonly filename: string;
  readonly mediaType: string;
  readonly bytes: number;
}): StoredFilePart {
  return storedPart({ ...file, id: file.fileId });
}

function storedPart(file: AttachedFile, mediaType = file.mediaType): StoredFilePart {
  const { id, filename, bytes } = file;
  return {
    type: 'file',
    mediaType,
    ...(filename === '' ? {} : { filename }),
    data: { type: 'stored', file_id: id, bytes },
  };
}

/** The caller's part with the file's id in place of its bytes. */
function showStored(shown: JsonObject, { mediaType, filename, data }: StoredFilePart): JsonObject {
  if (shown.type === 'input_file' || shown.type === 'file') {
    return { type: 'input_file', file_id: data.file_id, ...(filename === undefined ? {} : { filename }) };
  }
  if (shown.type === 'input_audio') return { type: 'input_audio', file_id: data.file_id };
  const image = typeof shown.image_url === 'object' ? (shown.image_url as JsonObject | null) : shown;
  const detail = image?.detail ?? shown.detail;
  return {
    type: 'input_image',
    file_id: data.file_id,
    ...(mediaType.includes('*') ? {} : { media_type: mediaType }),
    ...(detail === undefined ? {} : { detail }),
  };
}

/** What a text adds to the estimate for a file, which supposes an image or a document. */
function textTokens(part: unknown): number {
  const stored = asStored(part);
  if (stored === undefined || !isText(stored.mediaType)) return 0;
  return Math.ceil(Math.min(stored.data.bytes, MAX_ATTACHED_TEXT_CHARS) / BYTES_PER_TOKEN);
}

/** Messages are kept as JSON: the type of their parts does not know of ours. */
function asStored(part: unknown): StoredFilePart | undefined {
  const { type, data } = part as Partial<StoredFilePart>;
  return type === 'file' && data?.type === 'stored' ? (part as StoredFilePart) : undefined;
}

function isText(mediaType: string): boolean {
  return /^text\/|[/+](json|xml|yaml|x-yaml|javascript|typescript|toml|sql|x-sh|csv)$/.test(mediaType);
}

/** The prompt with the bytes of its files. The given one is left as it is. */
export async function loadAttachedFiles(
  files: TurnFiles,
  projectId: string,
  prompt: LanguageModelV4Prompt,
): Promise<LanguageModelV4Prompt> {
  const isAny = prompt.some(
    ({ role, content }) => role === 'user' && content.some((part) => asStored(part) !== undefined),
  );
  if (!isAny) return prompt;
  let left = MAX_PROMPT_FILE_BYTES;
  const loaded: LanguageModelV4Prompt = [];
  for (const message of prompt.toReversed()) {
    if (message.role !== 'user') {
      loaded.push(message);
      continue;
    }
    const content: (LanguageModelV4TextPart | LanguageModelV4FilePart)[] = [];
    for (const part of message.content) {
      const stored = asStored(part);
      if (stored === undefined) {
        content.push(part);
        continue;
      }
      const { bytes } = stored.data;
      const fits = bytes <= left;
      if (fits) left -= bytes;
      content.push(
        fits ? await loadPart(files, projectId, stored) : describeMissing(stored, 'too large to be shown again'),
      );
    }
    loaded.push({ ...message, content });
  }
  return loaded.reverse();
}

async function loadPart(
  files: TurnFiles,
  projectId: string,
  part: StoredFilePart,
): Promise<LanguageModelV4TextPart | LanguageModelV4FilePart> {
  const { mediaType, filename, data } = part;
  let bytes: Uint8Array;
  try {
    bytes = await files.read(projectId, data.file_id);
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'not_found')) throw error;
    return describeMissing(part, 'deleted since');
  }
  if (isText(mediaType)) {
    const text = new TextDecoder().decode(bytes);
    const shown =
      text.length > MAX_ATTACHED_TEXT_CHARS ? `${text.slice(0, MAX_ATTACHED_TEXT_CHARS).toWellFormed()}…` : text;
    return {
      type: 'text',
      text: `<file name="${(filename ?? data.file_id).replaceAll('"', "'")}">\n${shown}\n</file>`,
    };
  }
  return {
    type: 'file',
    mediaType,
    ...(filename === undefined ? {} : { filename }),
    data: { type: 'data', data: Buffer.from(bytes).toString('base64') },
  };
}

function describeMissing({ filename, data }: StoredFilePart, why: string): LanguageModelV4TextPart {
  return { type: 'text', text: `[The file ${filename ?? data.file_id} was here; it is ${why}.]` };
}
