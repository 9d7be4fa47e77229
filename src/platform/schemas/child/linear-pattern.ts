/**
 * Regular expressions of callers, on an engine whose time is linear in the text (RE2). They are written for ECMAScript, so
 * its escapes are translated, and conditions at the very beginning (`^(?=.{1,253}$)…`, `^(?!-)…`), which generators of
 * schemas write and RE2 lacks, become expressions of their own.
 */
import { LRUCache } from 'lru-cache';
import { RE2JS } from 're2js';
import { findClassEnd } from '../pattern-states.ts';

export interface LinearPattern {
  /** Whether the pattern matches somewhere in the text. */
  test(text: string): boolean;
}

/** Of one child; the longest has some ten thousand states. */
const MAX_KEPT = 500;
const kept = new LRUCache<string, LinearPattern>({ max: MAX_KEPT });

/** Throws for what is no regular expression, or needs backtracking: back-references, and look-around further inside. */
export function compilePattern(pattern: string): LinearPattern {
  const known = kept.get(pattern);
  if (known !== undefined) return known;
  const { conditions, rest } = splitConditions(pattern);
  const compiled = [...conditions, { pattern: rest, wanted: true }].map((each) => ({
    expression: compileLinear(each.pattern),
    wanted: each.wanted,
  }));
  const made: LinearPattern = {
    test: (text) => compiled.every(({ expression, wanted }) => expression.matcher(text).find() === wanted),
  };
  kept.set(pattern, made);
  return made;
}

function compileLinear(pattern: string): RE2JS {
  // The translation would take it for a letter.
  if (BACK_REFERENCE.test(pattern)) throw new Error('it refers back to a group, which takes backtracking');
  try {
    return RE2JS.compile(RE2JS.translateRegExp(pattern));
  } catch (error) {
    throw new Error(describeFailure(pattern, error));
  }
}

function describeFailure(pattern: string, error: unknown): string {
  if (/\(\?<?[=!]/.test(pattern)) return 'it looks ahead or behind, which takes backtracking';
  const reason = error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : '';
  return reason.slice(0, REASON_MAX_CHARS).toWellFormed();
}

/** After an even number of backslashes. */
const BACK_REFERENCE = /(?<!\\)(?:\\\\)*\\(?:[1-9]|k<)/;
const REASON_MAX_CHARS = 200;

interface Condition {
  readonly pattern: string;
  readonly wanted: boolean;
}

/** Takes leading `^(?=…)` and `^(?!…)` off a pattern that is no choice between several. */
export function splitConditions(pattern: string): { readonly conditions: readonly Condition[]; readonly rest: string } {
  const conditions: Condition[] = [];
  let at = 1;
  while (pattern.startsWith('^') && /^\(\?[=!]/.test(pattern.slice(at, at + 3))) {
    const end = findGroupEnd(pattern, at);
    if (end === undefined) break;
    conditions.push({ pattern: `^(?:${pattern.slice(at + 3, end)})`, wanted: pattern[at + 2] === '=' });
    at = end + 1;
  }
  if (conditions.length === 0 || hasChoice(pattern)) return { conditions: [], rest: pattern };
  return { conditions, rest: `^${pattern.slice(at)}` };
}

/** Where the group that begins here ends; undefined where it does not. */
function findGroupEnd(pattern: string, start: number): number | undefined {
  for (const [at, depth] of walkGroups(pattern, start)) if (depth === 0 && pattern[at] === ')') return at;
  return undefined;
}

function hasChoice(pattern: string): boolean {
  for (const [at, depth] of walkGroups(pattern, 0)) if (depth === 0 && pattern[at] === '|') return true;
  return false;
}

/** Each character that is neither escaped nor in a class, with the groups open after it. */
function* walkGroups(pattern: string, start: number): Generator<[at: number, depth: number]> {
  let depth = 0;
  for (let at = start; at < pattern.length; at += 1) {
    if (pattern[at] === '\\') at += 1;
    else if (pattern[at] === '[') at = findClassEnd(pattern, at);
    else {
      if (pattern[at] === '(') depth += 1;
      else if (pattern[at] === ')') depth -= 1;
      yield [at, depth];
    }
  }
}
