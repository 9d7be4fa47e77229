/** What a pushed span used, by the attributes that instrumentations write. */
import * as names from '../conventions.ts';
import type { SpanUsage } from '../trace.ts';
import { MAX_COST, MAX_TOKENS } from './limits.ts';

/** Null where the attributes name no usage, or sum up that of the spans inside. */
export function readUsage(attributes: Readonly<Record<string, unknown>>): SpanUsage | null {
  if (!names.hasOwnUsage(attributes)) return null;
  const input = readAmount(attributes[names.INPUT_TOKENS] ?? attributes['gen_ai.usage.prompt_tokens'], MAX_TOKENS);
  const output = readAmount(
    attributes[names.OUTPUT_TOKENS] ?? attributes['gen_ai.usage.completion_tokens'],
    MAX_TOKENS,
  );
  const cost = readAmount(attributes[names.COST], MAX_COST);
  if (input === undefined && output === undefined && cost === undefined) return null;
  return {
    input_tokens: Math.round(input ?? 0),
    output_tokens: Math.round(output ?? 0),
    cost_micros: cost === undefined ? null : microsOf(cost),
  };
}

/** Of an amount in US dollars. */
export function microsOf(cost: number): number {
  return Math.round(cost * 1_000_000);
}

function readAmount(value: unknown, limit: number): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= limit ? value : undefined;
}
