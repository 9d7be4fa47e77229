/**
 * The caller's messages into the model's. Content is a string or parts: `text` and `input_text`; `image_url`,
 * `input_image` and `image`; `file` and `input_file`; `input_audio`. Files come inline (base64 or a data URL), as an https
 * address, or as the `file_id` of an uploaded one.
 */
import type { LanguageModelV4FilePart, LanguageModelV4Message, LanguageModelV4TextPart } from '@ai-sdk/provider';
import { ApiError } from '../../../kernel/http/errors.ts';
import { PieceByPieceEstimate } from '../../models/index.ts';
import type { JsonObject } from '../../tables.ts';
import type { StoredMessage } from '../turn.ts';

const MAX_INPUT_MESSAGES = 200;
const MAX_PARTS = 100;

export interface InputMessage {
  readonly role: string;
  readonly content: string | readonly JsonObject[];
  /** Of an assistant message that another conversation holds: what it called. */
  readonly tool_calls?: readonly PastCall[];
  /** Of a message with the role `tool`: the call that it answers. */
  readonly tool_call_id?: string;
}

export interface PastCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** Of a call of an MCP server's tool: whose, and its name there. */
  readonly mcp?: { readonly server_label: string; readonly name: string };
}

type ParsedMessage = Pick<StoredMessage, 'role' | 'content'>;
type Part = LanguageModelV4TextPart | LanguageModelV4FilePart;

/** Throws `invalid_input` naming the message and part at fault, `too_many_inputs` beyond MAX_INPUT_MESSAGES. */
export function parseInput(input: readonly InputMessage[]): ParsedMessage[] {
  if (input.length === 0) throw invalid('input', 'must hold at least one message');
  if (input.length > MAX_INPUT_MESSAGES) {
    throw new ApiError('too_many_inputs', {
      param: 'input',
      message: `At most ${MAX_INPUT_MESSAGES} messages a turn.`,
    });
  }
  const called = new Map<string, string>();
  return input.map((message, index) => {
    for (const { id, name } of message.tool_calls ?? []) called.set(id, name);
    return parseMessage(message, `input.${index}`, called);
  });
}

/** The messages with what they count in a prompt. Others get their turn while megabytes of them are counted. */
export async function countInput(
  messages: readonly ParsedMessage[],
): Promise<Pick<StoredMessage, 'role' | 'content' | 'tokens'>[]> {
  const estimate = new PieceByPieceEstimate();
  const counted: Pick<StoredMessage, 'role' | 'content' | 'tokens'>[] = [];
  for (const message of messages) {
    counted.push({ ...message, tokens: await estimate.estimate(message as LanguageModelV4Message) });
  }
  return counted;
}

function parseMessage(message: InputMessage, at: string, called: ReadonlyMap<string, string>): ParsedMessage {
  const { role, content, tool_calls: calls = [] } = message;
  if (role === 'tool') return parseResult(message, at, called);
  if (role === 'assistant' && calls.length > 0) {
    const said = typeof content === 'string' ? content : textOf(parseParts(content, `${at}.content`), at);
    return {
      role: 'assistant',
      content: [
        ...(said === '' ? [] : [{ type: 'text' as const, text: said }]),
        ...calls.map(({ id, name, arguments: args }) => ({
          type: 'tool-call' as const,
          toolCallId: id,
          toolName: name,
          input: args,
        })),
      ],
    };
  }
  const parts =
    typeof content === 'string' ? [{ type: 'text' as const, text: content }] : parseParts(content, `${at}.content`);
  switch (role) {
    case 'user':
      return { role: 'user', content: parts };
    case 'assistant':
      if (parts.some((part) => part.type !== 'text')) throw invalid(`${at}.content`, 'of an assistant message is text');
      return { role: 'assistant', content: parts };
    case 'system':
    case 'developer':
      return { role: 'system', content: textOf(parts, at) };
    default:
      throw invalid(`${at}.role`, 'must be user, assistant, system or developer');
  }
}

/** The result of a call that the same input shows: one for a call that never was is refused. */
function parseResult(
  { content, tool_call_id: callId = '' }: InputMessage,
  at: string,
  called: ReadonlyMap<string, string>,
): ParsedMessage {
  const toolName = called.get(callId);
  if (toolName === undefined) throw invalid(`${at}.tool_call_id`, `answers a call that was never made: ${callId}`);
  const value = typeof content === 'string' ? content : textOf(parseParts(content, `${at}.content`), at);
  const output = { type: 'text' as const, value };
  return { role: 'tool', content: [{ type: 'tool-result', toolCallId: callId, toolName, output }] };
}

function textOf(parts: readonly Part[], at: string): string {
  return parts
    .map((part) => {
      if (part.type !== 'text') throw invalid(`${at}.content`, 'of a system message is text');
      return part.text;
    })
    .join('\n');
}

function parseParts(parts: readonly JsonObject[], at: string): Part[] {
  if (parts.length === 0) throw invalid(at, 'must hold at least one part');
  if (parts.length > MAX_PARTS) throw invalid(at, `must hold at most ${MAX_PARTS} parts`);
  return parts.map((part, index) => parsePart(part, `${at}.${index}`));
}

function parsePart(part: JsonObject, at: string): Part {
  switch (part.type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: stringAt(part.text, `${at}.text`) };
    case 'image_url':
      return filePart(
        stringAt(isObject(part.image_url) ? part.image_url.url : part.image_url, `${at}.image_url.url`),
        'image/*',
        at,
      );
    case 'input_image':
    case 'image':
      if (typeof part.file_id === 'string') return storedPart(part.file_id, 'image/*');
      return filePart(
        stringAt(part.image_url ?? part.url ?? part.data, `${at}.image_url`),
        mediaTypeOf(part, 'image/*'),
        at,
      );
    case 'file':
    case 'input_file':
      return parseFile(isObject(part.file) ? part.file : part, at);
    case 'input_audio': {
      const audio = isObject(part.input_audio) ? part.input_audio : part;
      const format = typeof audio.format === 'string' ? audio.format : 'wav';
      return inlinePart(
        stringAt(audio.data, `${at}.input_audio.data`),
        `audio/${format === 'mp3' ? 'mpeg' : format}`,
        at,
      );
    }
    default:
      throw invalid(`${at}.type`, 'must be text, image_url, input_image, input_file or input_audio');
  }
}

function parseFile(file: JsonObject, at: string): Part {
  const filename = typeof file.filename === 'string' ? { filename: file.filename } : {};
  const mediaType = mediaTypeOf(file, mediaTypeByName(filename.filename));
  if (typeof file.file_id === 'string') return storedPart(file.file_id, mediaType);
  const source = stringAt(file.file_data ?? file.file_url ?? file.url ?? file.data, `${at}.file_data`);
  return { ...filePart(source, mediaType, at), ...filename };
}

/** A file of the file store; attached-files.ts fills in what is known of it. */
function storedPart(fileId: string, mediaType: string): Part {
  return { type: 'file', mediaType, data: { type: 'stored', file_id: fileId, bytes: 0 } } as unknown as Part;
}

/** A data URL, an https address, or bare base64. */
function filePart(source: string, mediaType: string, at: string): LanguageModelV4FilePart {
  const inline = readDataUrl(source);
  if (inline !== undefined) return inlinePart(inline.data, inline.mediaType ?? mediaType, at);
  if (/^https?:/i.test(source)) {
    if (!URL.canParse(source)) throw invalid(at, 'holds an address that is no URL');
    // A URL object becomes its text in JSON; build-prompt.ts restores it.
    return { type: 'file', mediaType, data: { type: 'url', url: new URL(source) } };
  }
  return inlinePart(source, mediaType, at);
}

/** Of its header only so much is read: an expression that repeats a group runs out of stack on a long text. */
const DATA_URL_HEADER_CHARS = 1024;

/** `data:<media type>;<parameters>;base64,<data>`, whose media type and parameters may be left out. */
function readDataUrl(source: string): { mediaType: string | undefined; data: string } | undefined {
  if (!source.startsWith('data:')) return undefined;
  const comma = source.slice(0, DATA_URL_HEADER_CHARS).indexOf(',');
  const header = /^data:([\w.+-]+\/[\w.+*-]+)?(?:;[\w-]+=[^;,]*)*;base64$/.exec(source.slice(0, Math.max(0, comma)));
  return header === null ? undefined : { mediaType: header[1], data: source.slice(comma + 1) };
}

function inlinePart(data: string, mediaType: string, at: string): LanguageModelV4FilePart {
  if (!isBase64(data)) throw invalid(at, 'must hold base64 data or an https address');
  return { type: 'file', mediaType, data: { type: 'data', data } };
}

/** Looks for what does not belong: an expression that repeats over all of a long text may run out of stack. */
function isBase64(data: string): boolean {
  const end = data.search(/[^A-Za-z0-9+/_-]/);
  if (end === -1) return data !== '';
  const padding = data.slice(end);
  return end > 0 && (padding === '=' || padding === '==');
}

const MEDIA_TYPE_CHARS = 255;

function mediaTypeOf(part: JsonObject, otherwise: string): string {
  const given = part.media_type ?? part.mime_type;
  const isShort = typeof given === 'string' && given.length <= MEDIA_TYPE_CHARS;
  return isShort && /^[\w.+-]+\/[\w.+*-]+$/.test(given) ? given : otherwise;
}

function mediaTypeByName(filename: string | undefined): string {
  const ending = filename?.split('.').at(-1)?.toLowerCase();
  const known: Record<string, string> = {
    pdf: 'application/pdf',
    txt: 'text/plain',
    md: 'text/markdown',
    csv: 'text/csv',
    json: 'application/json',
    png: 'image/png',
    jpg: 'image/jpeg',
    jpeg: 'image/jpeg',
    gif: 'image/gif',
    webp: 'image/webp',
  };
  return known[ending ?? ''] ?? 'application/pdf';
}

function stringAt(value: unknown, at: string): string {
  if (typeof value !== 'string') throw invalid(at, 'must be a string');
  return value;
}

function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function invalid(param: string, problem: string): ApiError {
  return new ApiError('invalid_input', { param, message: `\`${param}\` ${problem}.` });
}
