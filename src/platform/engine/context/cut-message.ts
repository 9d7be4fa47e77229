/**
 * Makes one message smaller. First its texts are cut in the middle, in proportion; where that is not enough, files and
 * arguments of calls give way to a note. Ids, names and the order of parts survive, so that calls keep their results.
 */
import type { LanguageModelV4Message } from '@ai-sdk/provider';
import { estimatePromptTokens } from '../../models/index.ts';
import type { StoredMessage } from '../turn.ts';

/** No message is cut below this: less would say nothing. */
export const MIN_MESSAGE_TOKENS = 32;
const MARK = '\n[… cut to fit the model’s context window …]\n';
/** A text that is short already is left as it is: the mark would be longer than what it saves. */
const SHORT_CHARS = 2 * MARK.length;
const SOFT_TRIES = 3;

type Part = Exclude<LanguageModelV4Message['content'], string>[number];

/** The message within about `level` tokens. */
export function cutMessage(message: StoredMessage, level: number): StoredMessage {
  let cut = message;
  for (let attempt = 0; attempt < SOFT_TRIES && cut.tokens > level; attempt += 1) {
    const share = (level / Math.max(1, cut.tokens)) * 0.9;
    cut = resized(
      message,
      mapContent(cut.content, (part) => shortenPart(part, share), share),
    );
  }
  if (cut.tokens <= level || typeof cut.content === 'string') return cut;
  const parts: Part[] = [...cut.content];
  for (const [index, part] of parts.entries()) {
    parts[index] = emptyPart(part);
    cut = resized(message, parts as StoredMessage['content']);
    if (cut.tokens <= level) break;
  }
  return cut;
}

function resized(message: StoredMessage, content: StoredMessage['content']): StoredMessage {
  const tokens = estimatePromptTokens([{ role: message.role, content } as LanguageModelV4Message]);
  return { ...message, content, tokens };
}

function mapContent(
  content: StoredMessage['content'],
  change: (part: Part) => Part,
  share: number,
): StoredMessage['content'] {
  if (typeof content === 'string') return cutText(content, share);
  return (content as Part[]).map(change) as StoredMessage['content'];
}

/** Reasoning is left alone: its provider has signed it as it is. */
function shortenPart(part: Part, share: number): Part {
  switch (part.type) {
    case 'text':
      return { ...part, text: cutText(part.text, share) };
    case 'tool-call':
      return { ...part, input: cutStrings(part.input, share) };
    case 'tool-result': {
      const { output } = part;
      switch (output.type) {
        case 'text':
        case 'error-text':
          return { ...part, output: { ...output, value: cutText(output.value, share) } };
        case 'json':
          return { ...part, output: { type: 'text', value: cutText(JSON.stringify(output.value), share) } };
        case 'error-json':
          return { ...part, output: { type: 'error-text', value: cutText(JSON.stringify(output.value), share) } };
        case 'content': {
          const value = output.value.map((piece) =>
            piece.type === 'text' ? { ...piece, text: cutText(piece.text, share) } : piece,
          );
          return { ...part, output: { ...output, value } };
        }
        default:
          return part;
      }
    }
    default:
      return part;
  }
}

function emptyPart(part: Part): Part {
  switch (part.type) {
    case 'file':
      return { type: 'text', text: `(${part.filename ?? `a file, ${part.mediaType}`}: left out, it does not fit)` };
    case 'tool-call':
      return { ...part, input: { note: 'The arguments were left out: they do not fit.' } };
    case 'tool-result':
      if (part.output.type === 'error-text' || part.output.type === 'execution-denied') return part;
      return { ...part, output: { type: 'text', value: 'The result was left out: it does not fit.' } };
    default:
      return part;
  }
}

/** Every string of a JSON value in proportion; names of members stay. */
function cutStrings(value: unknown, share: number): unknown {
  if (typeof value === 'string') return cutText(value, share);
  if (Array.isArray(value)) return value.map((item) => cutStrings(item, share));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, cutStrings(member, share)]));
}

function cutText(text: string, share: number): string {
  const keep = Math.floor(text.length * Math.min(1, share));
  if (keep >= text.length || text.length <= SHORT_CHARS) return text;
  const head = Math.ceil(keep / 2);
  const tail = keep - head;
  return text.slice(0, head).toWellFormed() + MARK + text.slice(text.length - tail).toWellFormed();
}
