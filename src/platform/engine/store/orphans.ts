/**
 * Turns that nobody executes, and the statements that take them over. Each comes back with its attempt counted up.
 *
 * Those of a replica that ended abruptly are suspects: one of them may be what ended it. The statement that takes a suspect
 * over counts that end against it, unless the turn has completed a step since the last: docs/decisions/0012-abrupt-ends.md.
 */
import type { Database, Executor } from '../../../kernel/db/database.ts';
import type { TurnKey } from '../turn.ts';
import { LEASE_SECONDS } from './replica.ts';
import type { RunRow } from './run-row.ts';

/** A turn of this replica that it does not execute is one that has just started, unless it is older than this. */
const ABANDONED_SECONDS = 10;
/** Turns taken over at once, so that a fleet shares the work of a dead member. */
export const ADOPT_AT_ONCE = 16;
/** Abrupt ends of other replicas from so long before its own on are a sign that something else than the turn ends them. */
const SAME_CAUSE_WITHIN = '1 minute';
/** A turn that was interrupted so often waits for calm: its next end may be its last. */
const WAITS_FROM_ENDS = 2;
/** How long no replica may have ended abruptly before such a turn is taken over. */
const CALM = '1 minute';
/** It is taken over without calm once it has waited so long. */
const LONGEST_WAIT = '15 minutes';

const LAPSED = `p.heartbeat_at <= now() - interval '${LEASE_SECONDS} seconds'`;
/** What such a replica leaves behind was not under way when it ended. */
const STOPPED = '(p.leaving or p.resting)';

/** What a replica that looks for turns to take over learns. */
export interface TakeoverNeed {
  /** Turns that nobody executes: what `adoptReleased` and `adoptSuspects` take, and suspects that wait. */
  readonly hasOrphans: boolean;
  /** The store has turns of this replica that it does not execute. They are orphans once they are older than a start takes. */
  readonly hasLostTurns: boolean;
  /** Other replicas hold something: their turns are orphans once they fall silent. */
  readonly othersBeat: boolean;
}

/** Reads, and takes nothing: a replica takes turns only while it sends heartbeats. `executing`: as of `adoptReleased`. */
export async function findTakeoverNeed(
  db: Executor,
  replicaId: string,
  executing: readonly string[],
): Promise<TakeoverNeed> {
  const { rows } = await db.query<{ has_orphans: boolean; has_lost_turns: boolean; others_beat: boolean }>({
    text: `
      with run as materialized (
        select r.replica_id, r.updated_at from runs r
        where r.status = 'in_progress' and (r.replica_id is distinct from $1 or r.id <> all ($2))
      )
      select
        exists (
          select from run left join replicas p on p.id = run.replica_id
          where case
            when run.replica_id = $1 then run.updated_at < now() - interval '${ABANDONED_SECONDS} seconds'
            else p.id is null or ${LAPSED}
            end
        ) as has_orphans,
        exists (select from run where run.replica_id = $1) as has_lost_turns,
        exists (select from replicas p where p.id <> $1 and not p.resting and not (${LAPSED})) as others_beat`,
    values: [replicaId, executing],
  });
  const [row] = rows;
  return {
    hasOrphans: row?.has_orphans === true,
    hasLostTurns: row?.has_lost_turns === true,
    othersBeat: row?.others_beat === true,
  };
}

/**
 * Takes over turns that were left in order: that their replica has released, or that it left behind while it stopped or rested, and
 * this replica's own where the store failed to take a step (`executing` names the others).
 */
export async function adoptReleased(db: Database, replicaId: string, executing: readonly string[]): Promise<RunRow[]> {
  const { rows } = await db.query<RunRow>({
    text: `
      with orphan as (
        select r.project_id, r.id from runs r
        where r.status = 'in_progress' and case
          when r.replica_id is null then true
          when r.replica_id = $1 then r.updated_at < now() - interval '${ABANDONED_SECONDS} seconds' and r.id <> all ($2)
          else exists (select 1 from replicas p where p.id = r.replica_id and ${STOPPED} and ${LAPSED})
          end
        limit ${ADOPT_AT_ONCE}
        for update of r skip locked
      )
      update runs set replica_id = $1, attempt = attempt + 1, updated_at = now()
      from orphan
      where runs.project_id = orphan.project_id and runs.id = orphan.id
      returning runs.*`,
    values: [replicaId, executing],
  });
  return rows;
}

/** A turn whose replica ended abruptly. */
export interface Suspect extends RunRow {
  readonly interrupted_by: string[];
  /** No other suspect was executed beside it, and it had shown no sign of life, when its replica ended. */
  readonly was_alone: boolean;
  /** Replicas have ended abruptly, of late or soon before its own, that did not execute this turn, and nothing explains it. */
  readonly others_ended: boolean;
}

/**
 * Takes over turns whose replica has fallen silent, those first that are to blame most likely: what was done last before
 * the end. `alone`: one turn, which is marked as being on trial. Else up to ADOPT_AT_ONCE, of those that have been
 * interrupted for the first time. One that has been interrupted twice, and is not to blame for it, waits while replicas go on ending.
 */
export async function adoptSuspects(db: Database, replicaId: string, alone: boolean): Promise<Suspect[]> {
  const { rows } = await db.query<Suspect>({
    text: `
      with ended as (
        select p.id, p.heartbeat_at from replicas p
        where p.id <> $1 and not ${STOPPED} and not p.explained and ${LAPSED}
      ), suspect as (
        select r.project_id, r.id, steps.done, coalesce(r.trial_attempt = r.attempt, false) as was_alone,
          counted.interrupted_by, others.ended as others_ended
        from runs r cross join lateral (
          select count(*)::int as done from run_steps s
          where s.project_id = r.project_id and s.run_id = r.id and s.status = 'completed'
        ) steps cross join lateral (
          select case when steps.done > coalesce(r.progress_mark, 0) then '{}' else coalesce(r.interrupted_by, '{}') end
            || r.replica_id as interrupted_by
        ) counted cross join lateral (
          select exists (
            select 1 from ended
            where ended.id <> all (counted.interrupted_by) and ended.heartbeat_at > coalesce(
              (select own.heartbeat_at from replicas own where own.id = r.replica_id), now()
            ) - interval '${SAME_CAUSE_WITHIN}'
          ) as ended
        ) others
        where r.status = 'in_progress' and r.replica_id <> $1 and ($2 or r.interrupted_by is null)
          and not exists (select 1 from replicas p where p.id = r.replica_id and (${STOPPED} or not ${LAPSED}))
          and not (
            cardinality(counted.interrupted_by) >= ${WAITS_FROM_ENDS}
            and (others.ended or coalesce(r.trial_attempt <> r.attempt, true))
            and exists (select 1 from ended where ended.heartbeat_at > now() - interval '${CALM}')
            and r.updated_at > now() - interval '${LONGEST_WAIT}' and r.cancel_requested_at is null
          )
        order by was_alone desc, cardinality(coalesce(r.interrupted_by, '{}')), r.updated_at desc
        limit case when $2 then 1 else ${ADOPT_AT_ONCE} end
        for update of r skip locked
      )
      update runs set replica_id = $1, attempt = attempt + 1, updated_at = now(), progress_mark = suspect.done,
        interrupted_by = suspect.interrupted_by, trial_attempt = case when $2 then attempt + 1 end
      from suspect
      where runs.project_id = suspect.project_id and runs.id = suspect.id
      returning runs.*, suspect.was_alone, suspect.others_ended`,
    values: [replicaId, alone],
  });
  return rows;
}

/** The turn has shown a sign of life, or made room for the next: it is not alone any more. */
export async function endTrial(db: Database, { projectId, runId, attempt }: TurnKey): Promise<void> {
  await db.query({
    text: 'update runs set trial_attempt = null where project_id = $1 and id = $2 and trial_attempt = $3',
    values: [projectId, runId, attempt],
  });
}

/** It is known why these replicas ended. */
export async function explainEnds(db: Database, replicaIds: readonly string[]): Promise<void> {
  await db.query({ text: 'update replicas set explained = true where id = any ($1)', values: [replicaIds] });
}

/** Number of the last stored frame. */
export async function findLastSeq(
  db: Executor,
  { projectId, runId }: Pick<TurnKey, 'projectId' | 'runId'>,
): Promise<number> {
  const { rows } = await db.query<{ seq: number }>({
    text: 'select coalesce(max(seq), 0) as seq from run_events where project_id = $1 and run_id = $2',
    values: [projectId, runId],
  });
  return Number(rows[0]?.seq ?? 0);
}
