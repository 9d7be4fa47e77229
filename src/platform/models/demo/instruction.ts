/**
 * What the last user message tells the built-in model to do. The sentences are recognised anywhere in the message and
 * without regard to case; of several kinds the first of this list wins.
 *
 *     Fail with 503                                  the call fails with that HTTP status (400 to 599)
 *     Refuse to answer                               the answer ends with the finish reason content-filter
 *     Call the tool NAME with {JSON}                 calls the tool; several such sentences make several calls at once
 *     … then call the tool NAME with {JSON}          calls it a step later, once the results of those before it are there
 *     Write N words [at R words per second]          streams exactly N words, paced when a rate is given
 *     Think about X                                  reasoning first, then an ordinary reply
 */
import { parseJsonText } from '../../../kernel/http/json-body.ts';

export type Instruction =
  | { readonly type: 'fail'; readonly status: number }
  | { readonly type: 'refuse' }
  | { readonly type: 'call'; readonly steps: readonly (readonly RequestedCall[])[] }
  | { readonly type: 'write'; readonly words: number; readonly wordsPerSecond: number | undefined }
  | { readonly type: 'think'; readonly subject: string }
  | { readonly type: 'reply' };

export interface RequestedCall {
  readonly name: string;
  /** The object's own text, balanced. Undefined: what follows `with` is no JSON object. */
  readonly argumentsJson: string | undefined;
}

const FAIL = /\bfail with (?:status |code )?([45]\d\d)\b/i;
const REFUSE = /\brefuse to answer\b/i;
const CALL = /(?:\b(then)\b[,:]?\s+)?\bcall the tool\s+[`"'“]?([\w.:/-]+?)[`"'”]?\s+with\s*(?=\{)/gi;
const WRITE =
  /\bwrite\s+(\d[\d,_]{0,11})\s+words?\b(?:\s+at\s+(\d+(?:\.\d+)?|\.\d+)\s+words?\s*(?:per|a|\/)\s*(?:second|s\b))?/i;
const THINK = /\bthink about\s+([^\n]*)/i;

export function readInstruction(message: string): Instruction {
  const fail = FAIL.exec(message);
  if (fail !== null) return { type: 'fail', status: Number(fail[1]) };
  if (REFUSE.test(message)) return { type: 'refuse' };
  const steps = readSteps(message);
  if (steps.length > 0) return { type: 'call', steps };
  const write = WRITE.exec(message);
  if (write !== null) {
    const words = Number((write[1] ?? '').replaceAll(/[,_]/g, ''));
    return { type: 'write', words, wordsPerSecond: write[2] === undefined ? undefined : Number(write[2]) };
  }
  const think = THINK.exec(message);
  if (think !== null) return { type: 'think', subject: withoutEnd((think[1] ?? '').trim()) };
  return { type: 'reply' };
}

/** Without the sentence's own full stop. A loop, because `/[.!?]+$/` is quadratic in a run of stops that is not at the end. */
function withoutEnd(sentence: string): string {
  let end = sentence.length;
  while (end > 0 && '.!?'.includes(sentence.charAt(end - 1))) end--;
  return sentence.slice(0, end);
}

/** The calls of each step. */
function readSteps(message: string): RequestedCall[][] {
  const steps: RequestedCall[][] = [];
  const pattern = new RegExp(CALL);
  for (let match = pattern.exec(message); match !== null; match = pattern.exec(message)) {
    const start = pattern.lastIndex;
    const end = findObjectEnd(message, start);
    const text = end === undefined ? undefined : message.slice(start, end);
    const call = { name: match[2] ?? '', argumentsJson: text !== undefined && isJsonObject(text) ? text : undefined };
    const step = match[1] === undefined ? steps.at(-1) : undefined;
    if (step === undefined) steps.push([call]);
    else step.push(call);
    // What follows an object that never ends is part of it.
    if (end === undefined) break;
    // A sentence inside the arguments is data.
    pattern.lastIndex = end;
  }
  return steps;
}

/** The index after the brace that closes the one at `start`; braces inside strings do not count. */
function findObjectEnd(text: string, start: number): number | undefined {
  let depth = 0;
  let inString = false;
  for (let index = start; index < text.length; index++) {
    const char = text[index];
    if (inString) {
      if (char === '\\') index++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') {
      depth--;
      if (depth === 0) return index + 1;
    }
  }
  return undefined;
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = parseJsonText(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
