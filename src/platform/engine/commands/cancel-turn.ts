/**
 * Cancels a run, wherever its turn is. The replica that executes it is asked first: it closes the upstream's socket and
 * keeps what was said so far. One that does not answer is overruled: the run is settled here, and the lease makes sure
 * that the other writes nothing more.
 */

import { elapsedMs } from '../../../kernel/clock/timers.ts';
import type { Database, Transaction } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import { releaseBudgets } from '../../budgets/index.ts';
import { appendEvent } from '../../feed/append-event.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import type { Engine } from '../engine.ts';
import { closeCalls, expiryFrame } from '../execution/turn-records.ts';
import { getRun } from '../store/get-run.ts';
import { describeLeftPause } from '../store/left-pauses.ts';
import { type RunRow, renderUsage } from '../store/run-row.ts';
import type { NewFrame } from '../timeline/frames.ts';
import { readStatus } from '../timeline/read-timeline.ts';
import { isSettled, SEQ_JUMP, TurnStopped } from '../turn.ts';

/** How long the executing replica has to do it itself, unless the engine says otherwise. */
export const GRACE_MS = 120;

/** Returns once the run has ended. One that had ended before is left as it is. Throws `not_found`. */
export async function cancelTurn(
  engine: Engine,
  run: { readonly projectId: string; readonly smithId: string; readonly runId: string },
): Promise<void> {
  const { db, signals } = engine;
  let current = await getRun(tenantDb(db, run.projectId), run.runId, run.smithId);
  if (current.status === 'in_progress') {
    const live = engine.findLive(run.runId);
    if (live === undefined) await askReplica(engine, run);
    else {
      live.abort.abort(new TurnStopped('cancelled'));
      await live.done;
    }
    current = await getRun(tenantDb(db, run.projectId), run.runId);
  }
  if (isSettled(current.status)) return;
  if (await overrule(db, current)) {
    engine.runSettled({ projectId: run.projectId, runId: run.runId, channel: current.channel });
    // Whoever holds a call of it lets go; without this message, a little later.
    await signals.requestCancel(run.runId);
  }
  signals.announce([run.runId]);
}

/** Has the replica that executes the run stop it, and waits until it has, no longer than its grace. */
async function askReplica(
  { db, signals, cancelGraceMs: graceMs = GRACE_MS }: Pick<Engine, 'db' | 'signals' | 'cancelGraceMs'>,
  run: { readonly projectId: string; readonly runId: string },
): Promise<void> {
  const deadlineMs = elapsedMs() + graceMs;
  const watch = signals.watch(run.runId);
  try {
    await db.query({
      text: 'update runs set cancel_requested_at = now() where project_id = $1 and id = $2',
      values: [run.projectId, run.runId],
    });
    await signals.requestCancel(run.runId);
    // A wake-up need not be the answer: the run's last frames wake readers as well.
    for (let leftMs = graceMs; leftMs > 0; leftMs = deadlineMs - elapsedMs()) {
      // Nor is each change announced to everybody: it looks by itself, too.
      await watch.next(Math.min(leftMs, GRACE_MS));
      if ((await readStatus(db, run.projectId, run.runId)) !== 'in_progress') return;
    }
  } finally {
    watch.close();
  }
}

/** Settles a run that nobody executes or whose replica does not answer. Its open questions expire. False: it has ended meanwhile. */
async function overrule(db: Database, run: RunRow): Promise<boolean> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<RunRow>({
      text: `
        update runs set status = 'cancelled', stop_reason = 'cancelled', attempt = attempt + 1, updated_at = now(),
          sealed_mcp_credentials = null,
          pauses = case when status = 'paused' then pauses || $3::jsonb else pauses end
        where project_id = $1 and id = $2 and status in ('in_progress', 'paused')
        returning *`,
      values: [run.project_id, run.id, run.status === 'paused' ? `[${describeLeftPause(run, null)}]` : '[]'],
    });
    const row = rows[0];
    if (row === undefined) return false;
    await releaseBudgets(tx, { projectId: row.project_id, holder: row.id });
    const expired = (await expireApprovals(tx, row)).map(expiryFrame);
    for (const { data } of expired) {
      await appendEvent(tenantDb(tx, row.project_id), {
        type: 'approval.resolved',
        smithId: row.smith_id,
        actor: row.actor,
        data: { run_id: row.id, thread_id: row.thread_id, ...data },
      });
    }
    const warnings = row.warnings.length === 0 ? {} : { warnings: row.warnings };
    const data = { stop_reason: 'cancelled', usage: renderUsage(row), ...warnings };
    await writeLastFrames(tx, row, [...expired, { type: 'run.cancelled', data }]);
    if (row.output !== null) {
      await tx.query({
        text: 'update runs set output = $3 where project_id = $1 and id = $2',
        values: [row.project_id, row.id, json(closeCalls(row.output))],
      });
    }
    return true;
  });
}

async function expireApprovals(tx: Transaction, run: RunRow): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>({
    text: `
      update approvals set status = 'expired', resolved_at = now()
      where project_id = $1 and run_id = $2 and status = 'pending'
      returning id`,
    values: [run.project_id, run.id],
  });
  return rows.map(({ id }) => id).sort();
}

/** Beyond every number that the overruled replica can have shown. */
async function writeLastFrames(tx: Transaction, run: RunRow, frames: readonly NewFrame[]): Promise<void> {
  await tx.query({
    text: `
      insert into run_events (project_id, run_id, seq, type, data)
      select $1, $2, last.seq + $4::bigint + f.n, f.frame ->> 'type', f.frame -> 'data'
      from (select coalesce(max(seq), 0) as seq from run_events where project_id = $1 and run_id = $2) last,
        jsonb_array_elements($3::jsonb) with ordinality as f (frame, n)`,
    values: [run.project_id, run.id, json(frames), run.attempt * SEQ_JUMP],
  });
}
