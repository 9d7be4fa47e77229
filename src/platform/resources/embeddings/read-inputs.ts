/** The `input` of an embedding: a text, texts, the tokens of a text, or a list of such. */
import { ApiError } from '../../../kernel/http/errors.ts';

export const MAX_INPUTS = 2048;
/** About 16,000 tokens: twice what the common models take. */
export const MAX_INPUT_CHARACTERS = 65_536;
export const MAX_INPUT_TOKENS = 8192;
/** About 300,000 tokens, which is what OpenAI takes in one request. */
export const MAX_TOTAL_CHARACTERS = 1_200_000;

/**
 * The texts, 1 to MAX_INPUTS, each not empty. Throws `invalid_input` naming the entry at fault, or `too_many_inputs`.
 */
export async function readInputs(input: unknown): Promise<string[]> {
  if (typeof input === 'string') return [checkText(input, 'input')];
  if (!Array.isArray(input)) throw invalid('input', 'must be a text, a list of texts, or tokens');
  if (input.length === 0) throw invalid('input', 'must hold at least one text');
  if (typeof input[0] === 'number') return [await decode(input, 'input')];
  if (input.length > MAX_INPUTS) {
    throw tooMany(`There are ${input.length} inputs, at most ${MAX_INPUTS} fit into one request.`);
  }
  const texts: string[] = [];
  let characters = 0;
  // Several lists of tokens, or several texts; not both.
  const ofTokens = Array.isArray(input[0]);
  for (const [index, entry] of input.entries()) {
    const text = await readEntry(entry, ofTokens, `input.${index}`);
    characters += text.length;
    // At once, before the rest of the tokens is decoded.
    if (characters > MAX_TOTAL_CHARACTERS) {
      throw tooMany(
        `At most ${MAX_TOTAL_CHARACTERS} characters fit into one request, and ${index + 1} inputs have more.`,
      );
    }
    texts.push(text);
  }
  return texts;
}

function readEntry(entry: unknown, ofTokens: boolean, at: string): string | Promise<string> {
  if (typeof entry === 'string' && !ofTokens) return checkText(entry, at);
  if (Array.isArray(entry) && ofTokens) return decode(entry, at);
  throw invalid(at, ofTokens ? 'must be a list of tokens, as the first one is' : 'must be a text, as the first one is');
}

function checkText(text: string, at: string): string {
  if (text === '') throw invalid(at, 'must not be empty');
  if (text.length > MAX_INPUT_CHARACTERS) {
    throw invalid(at, `has ${text.length} characters, at most ${MAX_INPUT_CHARACTERS} are taken: split it`);
  }
  // Half a character is no text that a model's server could be sent.
  return text.toWellFormed();
}

async function decode(tokens: readonly unknown[], at: string): Promise<string> {
  if (tokens.length === 0) throw invalid(at, 'must not be empty');
  if (tokens.length > MAX_INPUT_TOKENS) {
    throw invalid(at, `has ${tokens.length} tokens, at most ${MAX_INPUT_TOKENS} are taken: split it`);
  }
  // The vocabulary takes 80 ms and 15 MB, and few callers send tokens.
  const { decodeTokens } = await import('./decode-tokens.ts');
  const decoded = decodeTokens(tokens);
  if (typeof decoded === 'number') {
    throw invalid(`${at}.${decoded}`, 'is no token of cl100k_base: send the text instead');
  }
  return checkText(decoded, at);
}

function invalid(param: string, problem: string): ApiError {
  return new ApiError('invalid_input', { param, message: `\`${param}\` ${problem}.` });
}

function tooMany(message: string): ApiError {
  return new ApiError('too_many_inputs', { param: 'input', message: `${message} Split them into several requests.` });
}
