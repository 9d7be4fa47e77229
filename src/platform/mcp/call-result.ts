/** What a server answered to a call, as the model reads it and as runs show it. */
import type { CallToolResult } from '@modelcontextprotocol/client';
import { ApiError } from '../../kernel/http/errors.ts';
import type { JsonObject } from '../tables.ts';
import type { ResultPart, ToolOutcome } from '../tools/tool.ts';

type StoredFile = Extract<ResultPart, { readonly type: 'file' }>;

/** Whose result it is. */
export interface ResultOwner {
  readonly projectId: string;
  readonly smithId: string;
  readonly runId: string;
  readonly callId: string;
}

/** The file store, as results need it. */
export interface ResultFiles {
  /** Keeps the bytes as a file of the smith, for as long as the call's step names it. Throws `payload_too_large` and `storage_unavailable`. */
  keep(
    owner: ResultOwner,
    file: { readonly filename: string; readonly mediaType: string; readonly content: Uint8Array },
  ): Promise<Omit<StoredFile, 'type'>>;
}

/** Of text that the model is given of one result, in UTF-8. */
const MAX_RESULT_TEXT_BYTES = 65_536;
const HEAD_BYTES = 49_152;
const TAIL_BYTES = 12_288;
/** Images, audio and other bytes of one result; more are only counted. */
const MAX_FILES = 20;
const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]{1,64}\/[a-z0-9!#$&^_.+-]{1,64}$/i;

type ContentBlock = CallToolResult['content'][number];

interface Keeping {
  readonly files: ResultFiles;
  readonly owner: ResultOwner;
  /** As files are named. */
  readonly toolName: string;
}

/** A result that tells of an error is one; so is nothing else. */
export async function readResult(keeping: Keeping, result: CallToolResult): Promise<ToolOutcome> {
  const content = Array.isArray(result.content) ? result.content : [];
  if (result.isError === true) return { error: cutText(textsOf(content).join('\n\n') || 'The tool failed.').text };
  const pieces: ResultPart[] = [];
  let files = 0;
  for (const block of content) {
    const bytes = bytesOf(block);
    if (bytes === undefined) pieces.push({ type: 'text', text: textOf(block) });
    else {
      files += 1;
      if (files <= MAX_FILES) pieces.push(await keepBytes(keeping, bytes, files));
    }
  }
  if (files > MAX_FILES) pieces.push({ type: 'text', text: `[${files - MAX_FILES} more files are left out.]` });
  const structured = result.structuredContent as JsonObject | undefined;
  if (pieces.length === 0 && structured !== undefined) pieces.push({ type: 'text', text: JSON.stringify(structured) });
  const parts = await fitText(keeping, pieces);
  return { output: describeOutput(parts, structured), forModel: parts };
}

function textsOf(content: readonly ContentBlock[]): string[] {
  return content.filter((block) => bytesOf(block) === undefined).map(textOf);
}

function textOf(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text.toWellFormed();
    case 'resource':
      return 'text' in block.resource ? block.resource.text.toWellFormed() : '';
    case 'resource_link':
      return `[${block.name}: ${block.uri}]`.toWellFormed();
    default:
      return '';
  }
}

function bytesOf(block: ContentBlock): { readonly mediaType: string; readonly base64: string } | undefined {
  if (block.type === 'image' || block.type === 'audio') return { mediaType: block.mimeType, base64: block.data };
  if (block.type !== 'resource' || !('blob' in block.resource)) return undefined;
  return { mediaType: block.resource.mimeType ?? 'application/octet-stream', base64: block.resource.blob };
}

async function keepBytes(
  { files, owner, toolName }: Keeping,
  { mediaType, base64 }: { readonly mediaType: string; readonly base64: string },
  number: number,
): Promise<ResultPart> {
  const usual = MEDIA_TYPE.test(mediaType) ? mediaType.toLowerCase() : 'application/octet-stream';
  const ending = /^(?:image|audio)\/([a-z0-9]{1,8})/.exec(usual)?.[1] ?? 'bin';
  const filename = `${toolName}-${number}.${ending}`;
  return keepFile(files, owner, { filename, mediaType: usual, content: Buffer.from(base64, 'base64') });
}

/** A file that cannot be kept is named as missing: the call has been made. */
async function keepFile(
  files: ResultFiles,
  owner: Keeping['owner'],
  file: Parameters<ResultFiles['keep']>[1],
): Promise<ResultPart> {
  try {
    return { type: 'file', ...(await files.keep(owner, file)) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { type: 'text', text: `[${file.filename} could not be kept: ${error.code}.]` };
  }
}

/** All text, or its head, its tail and the file that has it whole. */
async function fitText({ files, owner, toolName }: Keeping, parts: readonly ResultPart[]): Promise<ResultPart[]> {
  const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n');
  if (Buffer.byteLength(text) <= MAX_RESULT_TEXT_BYTES) return [...parts];
  const others = parts.filter(({ type }) => type !== 'text');
  const whole = { filename: `${toolName}.txt`, mediaType: 'text/plain', content: Buffer.from(text) };
  const kept = await keepFile(files, owner, whole);
  const where = kept.type === 'file' ? `the whole text is the file ${kept.fileId}` : kept.text;
  const { head, tail, left } = cutText(text);
  return [{ type: 'text', text: `${head}\n\n[${left} bytes are left out here: ${where}.]\n\n${tail}` }, ...others];
}

function cutText(text: string): {
  readonly text: string;
  readonly head: string;
  readonly tail: string;
  readonly left: number;
} {
  const bytes = Buffer.from(text);
  if (bytes.length <= MAX_RESULT_TEXT_BYTES) return { text, head: text, tail: '', left: 0 };
  // A character that a cut goes through is left out.
  const head = bytes
    .subarray(0, HEAD_BYTES)
    .toString()
    .replace(/\uFFFD$/, '');
  const tail = bytes
    .subarray(bytes.length - TAIL_BYTES)
    .toString()
    .replace(/^\uFFFD+/, '');
  const left = bytes.length - HEAD_BYTES - TAIL_BYTES;
  return { text: `${head}\n\n[${left} bytes are left out here.]\n\n${tail}`, head, tail, left };
}

function describeOutput(parts: readonly ResultPart[], structured: JsonObject | undefined): JsonObject {
  const content = parts.map((part) =>
    part.type === 'text'
      ? { type: 'text', text: part.text }
      : { type: 'file', file_id: part.fileId, media_type: part.mediaType, bytes: part.bytes },
  );
  if (structured === undefined) return { content };
  const isLarge = Buffer.byteLength(JSON.stringify(structured)) > MAX_RESULT_TEXT_BYTES;
  return isLarge ? { content, structured_content_omitted: true } : { content, structured_content: structured };
}
