import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider';
import { ownIteration } from '../../kernel/event-loop/own-iteration.ts';

/**
 * A cheap estimate of tokens, for budgets (does the history fit the window?) and for the built-in model's own limits and
 * usage: they are counted by the same function, so that a limit is met exactly.
 * A real tokenizer is 100 times slower and holds tens of megabytes, and would be right for one vendor only.
 *
 * The formula walks the text once, in runs of one kind of character:
 * - a word of ASCII letters, with the space before it: 1 token up to 8 letters, then 1 for each further 4 begun;
 *   a capital inside a word (camelCase) begins a new one; a run of capitals counts 1 for each 3 begun
 * - digits: 1 for each 3 begun
 * - punctuation: 1 for each 2 begun of the first four of a run, then 1 for each 8 begun (rulers)
 * - further spaces of a run: 1, and 1 more for each 16; a line break with its indentation: 1, further ones 1 for each 8
 * - letters of other alphabets: 1 for each 2 begun
 * - Chinese, Japanese and Korean characters: 1 each
 * - characters beyond the basic plane (emoji): 2 each; joiners and variation selectors: 1 each
 *
 * Held against o200k, the tokenizer of current OpenAI models, it errs on the high side: the tests state the bounds.
 */
export function estimateTokens(text: string): number {
  if (text.length < LONG_TEXT) return new TokenCounter().add(text);
  const known = counted.find((one) => one.text === text);
  if (known !== undefined) return known.tokens;
  const tokens = new TokenCounter().add(text);
  remember(text, tokens);
  return tokens;
}

function remember(text: string, tokens: number): void {
  counted.unshift({ text, tokens });
  counted.length = Math.min(counted.length, LONG_TEXTS_KEPT);
}

/** From here on counting a text again, as each turn does several times, would be felt by others. */
const LONG_TEXT = 50_000;
/** A turn counts few that are as long, one after the other. */
const LONG_TEXTS_KEPT = 3;
const counted: { readonly text: string; readonly tokens: number }[] = [];

/** Chat formats wrap each message in a few tokens of their own. */
const TOKENS_PER_MESSAGE = 4;
const TOKENS_PER_TOOL = 8;
/** An image or document costs what its provider decides; this is the middle of what they charge for a small image. */
const TOKENS_PER_FILE = 512;

/**
 * The estimate for everything that a call sends: messages, tool calls and results, files and the offered tools. The
 * built-in model measures its window with this, so that who stays below the window by it never overflows there.
 */
export function estimatePromptTokens(
  prompt: LanguageModelV4Prompt,
  tools: LanguageModelV4CallOptions['tools'] = undefined,
): number {
  let total = 0;
  for (const message of prompt) {
    total += TOKENS_PER_MESSAGE;
    if (message.role === 'system') total += estimateTokens(message.content);
    else for (const part of message.content) total += estimatePartTokens(part);
  }
  for (const tool of tools ?? []) total += estimateToolTokens(tool);
  return total;
}

type OfferedTool = NonNullable<LanguageModelV4CallOptions['tools']>[number];

/** Definitions do not change, and several places ask what the same ones take. */
const countedTools = new WeakMap<OfferedTool, number>();

function estimateToolTokens(tool: OfferedTool): number {
  const known = countedTools.get(tool);
  if (known !== undefined) return known;
  const tokens = TOKENS_PER_TOOL + estimateTokens(JSON.stringify(tool));
  countedTools.set(tool, tokens);
  return tokens;
}

/** Characters after which others get their turn. */
const PIECE_CHARS = 1_000_000;
/** A part that is counted as it is: so many of them are a piece. */
const PART_CHARS = 1_000;

/** As `estimatePromptTokens`, for messages of any size: others get their turn while they are counted. */
export class PieceByPieceEstimate {
  #left = PIECE_CHARS;

  async estimate({ content }: LanguageModelV4Message): Promise<number> {
    let total = TOKENS_PER_MESSAGE;
    for (const part of typeof content === 'string' ? [{ type: 'text', text: content } as const] : content) {
      const text = longTextOf(part);
      total += text === undefined ? estimatePartTokens(part) : await this.#count(text);
      if (part.type === 'tool-call') total += text === undefined ? 0 : estimateTokens(part.toolName);
      if (text === undefined) await this.#spend(PART_CHARS);
    }
    return total;
  }

  async #count(text: string): Promise<number> {
    const counter = new TokenCounter();
    let tokens = 0;
    for (let at = 0; at < text.length; ) {
      const end = at + this.#left;
      tokens = counter.add(text.slice(at, end));
      await this.#spend(Math.min(end, text.length) - at);
      at = end;
    }
    remember(text, tokens);
    return tokens;
  }

  async #spend(characters: number): Promise<void> {
    this.#left -= characters;
    if (this.#left > 0) return;
    this.#left = PIECE_CHARS;
    await ownIteration();
  }
}

/** The text that the part's tokens are those of, if it is long. */
function longTextOf(part: PromptPart): string | undefined {
  const text = textOf(part);
  return text !== undefined && text.length >= LONG_TEXT ? text : undefined;
}

function textOf(part: PromptPart): string | undefined {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text;
    case 'tool-call':
      return JSON.stringify(part.input ?? {});
    case 'tool-result':
      return part.output.type === 'text' || part.output.type === 'error-text' ? part.output.value : undefined;
    default:
      return undefined;
  }
}

type PromptPart = Exclude<LanguageModelV4Prompt[number], { role: 'system' }>['content'][number];

function estimatePartTokens(part: PromptPart): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return estimateTokens(part.text);
    case 'file':
      return part.data.type === 'text' ? estimateTokens(part.data.text) : TOKENS_PER_FILE;
    case 'reasoning-file':
      return TOKENS_PER_FILE;
    case 'tool-call':
      return estimateTokens(part.toolName) + estimateTokens(JSON.stringify(part.input ?? {}));
    case 'tool-result':
      return estimateOutputTokens(part.output);
    case 'tool-approval-response':
    case 'custom':
      return TOKENS_PER_MESSAGE;
  }
}

function estimateOutputTokens(output: LanguageModelV4ToolResultOutput): number {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return estimateTokens(output.value);
    case 'json':
    case 'error-json':
      return estimateTokens(JSON.stringify(output.value));
    case 'execution-denied':
      return estimateTokens(output.reason ?? '') + TOKENS_PER_MESSAGE;
    case 'content': {
      let total = 0;
      for (const part of output.value) total += part.type === 'text' ? estimateTokens(part.text) : TOKENS_PER_FILE;
      return total;
    }
  }
}

/**
 * The longest prefix of `text` that keeps `counter` within `limit` tokens in all. The counter is left at the end of that
 * prefix. A surrogate pair is never cut in two.
 */
export function takeTokens(counter: TokenCounter, text: string, limit: number): string {
  const before = counter.copy();
  if (counter.add(text) <= limit) return text;
  // Each character adds at most one token, so that a prefix that meets the limit exactly exists.
  let end = 0;
  counter.restore(before);
  while (end < text.length) {
    const point = String.fromCodePoint(text.codePointAt(end) ?? 0);
    const state = counter.copy();
    if (counter.add(point) > limit) {
      counter.restore(state);
      break;
    }
    end += point.length;
  }
  return text.slice(0, end);
}

const OTHER_LETTER = 0;
const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const SPACE = 4;
const NEWLINE = 5;
const PUNCTUATION = 6;
const WIDE = 7;
const SURROGATE = 8;
const JOINER = 9;
const NONE = 10;

const WORD_LETTERS = 8;
const WORD_REST_LETTERS = 4;
const SPACES_PER_TOKEN = 16;
const BREAKS_PER_TOKEN = 8;

const ASCII_KIND = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code >= 97 && code <= 122) return LOWER;
  if (code >= 65 && code <= 90) return UPPER;
  if (code >= 48 && code <= 57) return DIGIT;
  if (code === 32 || code === 9) return SPACE;
  if (code === 10 || code === 13) return NEWLINE;
  return PUNCTUATION;
});

/** Counts a text that arrives in pieces: the total does not depend on where it was cut. */
export class TokenCounter {
  #total = 0;
  #kind = NONE;
  /** Characters of the present run, counted as the formula needs. */
  #run = 0;

  get total(): number {
    return this.#total;
  }

  copy(): TokenCounter {
    const copy = new TokenCounter();
    copy.restore(this);
    return copy;
  }

  restore(state: TokenCounter): void {
    this.#total = state.#total;
    this.#kind = state.#kind;
    this.#run = state.#run;
  }

  /** Adds a piece; returns the tokens of everything so far. */
  add(text: string): number {
    let total = this.#total;
    let kind = this.#kind;
    let run = this.#run;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      const next = code < 128 ? (ASCII_KIND[code] ?? PUNCTUATION) : classifyWide(code);
      switch (next) {
        case LOWER:
          // A capital begins the word that follows it: "Call" is one run.
          run = kind === LOWER || (kind === UPPER && run === 1) ? run + 1 : 1;
          if (kind === UPPER && run === 2) break;
          if (run === 1 || (run > WORD_LETTERS && (run - WORD_LETTERS) % WORD_REST_LETTERS === 1)) total++;
          break;
        case UPPER:
          run = kind === UPPER ? run + 1 : 1;
          if (run % 3 === 1) total++;
          break;
        case DIGIT:
          run = kind === DIGIT ? run + 1 : 1;
          if (run % 3 === 1) total++;
          break;
        case PUNCTUATION:
          run = kind === PUNCTUATION ? run + 1 : 1;
          if (run <= 4 ? run % 2 === 1 : run % 8 === 5) total++;
          break;
        case SPACE:
          run = kind === SPACE ? run + 1 : 1;
          // The first space belongs to the word that follows, and indentation to its line break.
          if (kind === NEWLINE) run = 2;
          else if (run === 2 || run % SPACES_PER_TOKEN === 0) total++;
          break;
        case NEWLINE:
          run = kind === NEWLINE ? run + 1 : 1;
          if (run % BREAKS_PER_TOKEN === 1) total++;
          break;
        case OTHER_LETTER:
          run = kind === OTHER_LETTER ? run + 1 : 1;
          if (run % 2 === 1) total++;
          break;
        default:
          // Both halves of a surrogate pair come by: 1 each.
          total++;
          run = 1;
      }
      kind = next;
    }
    this.#total = total;
    this.#kind = kind;
    this.#run = run;
    return total;
  }
}

function classifyWide(code: number): number {
  if (code >= 0xd800 && code <= 0xdfff) return SURROGATE;
  if (code === 0x200d || (code >= 0xfe00 && code <= 0xfe0f)) return JOINER;
  // CJK radicals to unified ideographs with kana, Hangul, compatibility and full-width forms.
  if ((code >= 0x2e80 && code <= 0x9fff) || (code >= 0xac00 && code <= 0xd7af) || (code >= 0xf900 && code <= 0xffef))
    return WIDE;
  // General punctuation, arrows, mathematical and box-drawing signs, dingbats.
  if (code >= 0x2000 && code <= 0x2bff) return SURROGATE;
  return OTHER_LETTER;
}
