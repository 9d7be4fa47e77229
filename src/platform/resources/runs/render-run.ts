import { isSettled, renderUsage } from '../../engine/index.ts';
import type { Run } from './schema.ts';
import type { ShownRun } from './store.ts';

/** The public shape of a run. Usage is null until a step has used something. */
export function renderRun(row: ShownRun): Run {
  const used = row.input_tokens + row.output_tokens > 0 || isSettled(row.status);
  return {
    id: row.id,
    smith_id: row.smith_id,
    thread_id: row.thread_id,
    status: row.status,
    channel: row.channel,
    input: row.input as Run['input'],
    output: row.output,
    stop_reason: row.stop_reason,
    warnings: row.warnings as Run['warnings'],
    error: row.error,
    usage: used ? renderUsage(row) : null,
    metadata: row.metadata,
    actor: row.actor,
    app_id: row.app_id,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
