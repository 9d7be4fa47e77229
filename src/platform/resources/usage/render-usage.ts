import type { UsageAmounts } from './schema.ts';
import type { UsageColumn, UsageGroupRow, UsageSums } from './store.ts';

const MICROS_PER_DOLLAR = 1_000_000;

/** Sums as replies show them. */
export function renderAmounts(sums: UsageSums): UsageAmounts {
  const [input, output] = [Number(sums.input_tokens), Number(sums.output_tokens)];
  return {
    calls: Number(sums.calls),
    unpriced_calls: Number(sums.unpriced_calls),
    input_tokens: input,
    cached_input_tokens: Number(sums.cached_input_tokens),
    output_tokens: output,
    reasoning_tokens: Number(sums.reasoning_tokens),
    total_tokens: input + output,
    cost: Number(sums.cost_micros) / MICROS_PER_DOLLAR,
    quantity: Number(sums.quantity),
    seconds: Number(sums.seconds),
  };
}

export function renderGroup(row: UsageGroupRow, columns: readonly UsageColumn[]): Record<string, unknown> {
  const key = columns.map((column) => [column, row[column] === '' ? null : row[column]]);
  return { ...Object.fromEntries(key), ...renderAmounts(row) };
}
