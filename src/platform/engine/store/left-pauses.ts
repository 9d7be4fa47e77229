/**
 * How a run stood at each pause that it has left. A request that was answered with the paused run is answered with the
 * same when it is repeated, whatever has become of the run; and each pause is where the run's next segment begins.
 */
import { json } from '../../../kernel/db/values.ts';
import type { JsonObject } from '../../tables.ts';
import { type LeftPause, type RunRow, usedBy } from './run-row.ts';

interface ShownCall extends JsonObject {
  readonly id: string;
  readonly status: string;
}

/** The pause that the run is in, as `runs.pauses` keeps it once it has been left. */
export function describeLeftPause(run: RunRow, seq: number | null): string {
  const calls = callsOf(run);
  const open = calls.filter(({ status }) => status !== 'completed' && status !== 'failed');
  const pause: LeftPause = {
    seq,
    at: run.updated_at.toISOString(),
    ...usedBy(run),
    warnings: run.warnings.length,
    content: String(run.output?.content ?? ''),
    annotations: run.output?.annotations ?? null,
    calls: calls.length,
    open: Object.fromEntries(open.map(({ id, status }) => [id, status])),
  };
  return json(pause);
}

/** The run as it stood at that pause. */
export function runAtPause(run: RunRow, pause: LeftPause): RunRow {
  const { annotations: _, ...output } = run.output ?? {};
  return {
    ...run,
    status: 'paused',
    stop_reason: 'tool_calls',
    error: null,
    output: {
      ...output,
      content: pause.content,
      tool_calls: callsOf(run)
        .slice(0, pause.calls)
        .map((call) => ({ ...call, status: pause.open[call.id] ?? call.status })),
      ...(pause.annotations === null ? {} : { annotations: pause.annotations }),
    },
    warnings: run.warnings.slice(0, pause.warnings),
    input_tokens: pause.input_tokens,
    cached_input_tokens: pause.cached_input_tokens ?? 0,
    output_tokens: pause.output_tokens,
    reasoning_tokens: pause.reasoning_tokens ?? 0,
    cost_micros: pause.cost_micros,
    updated_at: new Date(pause.at),
  };
}

function callsOf(run: RunRow): ShownCall[] {
  return (run.output?.tool_calls ?? []) as ShownCall[];
}
