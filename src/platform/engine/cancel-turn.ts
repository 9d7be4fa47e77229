/**
 * Cancels a run, wherever its turn is. The replica that executes it is asked first: it closes the upstream's socket and
 * keeps what was said so far. One that does not answer is overruled: the run is settled here, and the lease makes sure
 * that the other writes nothing more.
 */
import type { Executor } from '../../kernel/db/database.ts';
import { json } from '../../kernel/db/values.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import type { Actor } from '../tables.ts';
import type { Engine } from './engine.ts';
import { TurnStopped } from './execute-turn.ts';
import { getRun } from './get-run.ts';
import { readStatus } from './read-timeline.ts';
import type { RunRow } from './run-row.ts';
import { isSettled, SEQ_JUMP } from './turn.ts';

/** How long the executing replica has to do it itself. */
const GRACE_MS = 120;

/** Throws `not_found`, and `invalid_state` for a run that completed or failed before. Cancelling twice is one. */
export async function cancelTurn(
  engine: Engine,
  run: { readonly projectId: string; readonly smithId: string; readonly runId: string },
  actor: Actor,
): Promise<void> {
  const { db, signals } = engine;
  let current = await getRun(db, run.projectId, run.runId, run.smithId);
  if (current.status === 'in_progress') {
    const live = engine.findLive(run.runId);
    if (live === undefined) await askReplica(engine, run);
    else {
      live.abort.abort(new TurnStopped('cancelled'));
      await live.done;
    }
    current = await getRun(db, run.projectId, run.runId);
  }
  if (!isSettled(current.status)) {
    await overrule(db, current, actor);
    signals.announce([run.runId]);
    current = await getRun(db, run.projectId, run.runId);
  }
  if (current.status !== 'cancelled') {
    throw new ApiError('invalid_state', {
      message: `The run has ${current.status} already; there is nothing to cancel.`,
    });
  }
}

/** Has the replica that executes the run stop it, and waits until it has, no longer than GRACE_MS. */
async function askReplica(
  { db, signals }: Pick<Engine, 'db' | 'signals'>,
  run: { readonly projectId: string; readonly runId: string },
): Promise<void> {
  const deadlineMs = performance.now() + GRACE_MS;
  const watch = signals.watch(run.runId);
  try {
    await db.query({
      text: 'update runs set cancel_requested_at = now() where project_id = $1 and id = $2',
      values: [run.projectId, run.runId],
    });
    await signals.requestCancel(run.runId);
    // Not every news is the answer: the run's last words are on their way.
    for (let leftMs = GRACE_MS; leftMs > 0; leftMs = deadlineMs - performance.now()) {
      await watch.next(leftMs);
      if ((await readStatus(db, run.projectId, run.runId)) !== 'in_progress') return;
    }
  } finally {
    watch.close();
  }
}

/** Settles a run that nobody executes or whose replica does not answer. Its open questions expire. */
async function overrule(db: Executor, run: RunRow, actor: Actor): Promise<void> {
  const eventIds = run.status === 'paused' ? Array.from({ length: 64 }, () => mintId('evt')) : [];
  await db.query({
    name: 'overrule_turn',
    text: `
      with run as (
        update runs set status = 'cancelled', stop_reason = 'cancelled', attempt = attempt + 1, updated_at = now()
        where project_id = $1 and id = $2 and status in ('in_progress', 'paused')
        returning smith_id, thread_id, attempt
      ), closed as (
        update approvals set status = 'expired', resolved_at = now() from run
        where project_id = $1 and run_id = $2 and status = 'pending'
        returning id
      ), feed as (
        insert into events (project_id, id, type, smith_id, actor, data)
        select $1, ids.id, 'approval.resolved', run.smith_id, $3::jsonb,
          jsonb_build_object('run_id', $2::text, 'thread_id', run.thread_id, 'approval_id', c.id, 'decision', 'expired',
                             'actor', null, 'content', null)
        from run, (select id, row_number() over (order by id) as n from closed) c
        join unnest($4::text[]) with ordinality as ids (id, n) on ids.n = c.n
      )
      insert into run_events (project_id, run_id, seq, type, data)
      select $1, $2, (select coalesce(max(seq), 0) from run_events where project_id = $1 and run_id = $2) + run.attempt * ${SEQ_JUMP}::bigint,
        'run.cancelled', jsonb_build_object('stop_reason', 'cancelled')
      from run`,
    values: [run.project_id, run.id, json(actor), eventIds],
  });
}
