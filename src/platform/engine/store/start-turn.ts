/**
 * The start of a turn, in one statement: the lock (a row of runs that the partial unique index allows once a smith), the
 * thread's next turn number, the question, the idempotency key and the first frame commit together or not at all; the
 * thread's history comes back with them.
 */
import type { Executor } from '../../../kernel/db/database.ts';
import { json, largeJson } from '../../../kernel/db/values.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { reserveNamedSql } from '../../budgets/index.ts';
import { countTurnSql, insertQuestionSql, MESSAGES_AS_JSON, nextTurnSql } from '../../threads/index.ts';
import type { StoredMessage, ThreadHistory } from '../turn.ts';
import { NOTHING_USED, type RunRow } from './run-row.ts';
import type { TurnClaim } from './turn-claims.ts';

/** What a run begins with; the store adds its turn and its time, everything else is as every new run has it. */
export type NewRun = Pick<
  RunRow,
  | 'project_id'
  | 'id'
  | 'smith_id'
  | 'thread_id'
  | 'agent_id'
  | 'agent_version'
  | 'channel'
  | 'input'
  | 'config'
  | 'metadata'
  | 'actor'
  | 'replay_of'
  | 'replica_id'
  | 'surface'
  | 'requests'
  | 'sealed_mcp_credentials'
>;

/** What is reserved of blocking budgets for the turn's first model call. */
export interface EstimatedReservation {
  readonly budgetIds: readonly string[];
  /** Micro-dollars of all but the thread's history. */
  readonly baseMicros: number;
  /** Micro-dollars that each token of the history adds. */
  readonly microsAToken: number;
}

export interface NewTurn {
  readonly run: NewRun;
  readonly messages: readonly Pick<StoredMessage, 'role' | 'content' | 'tokens'>[];
  /** False: its responses cannot be retrieved later. */
  readonly stored: boolean;
  readonly idempotency: TurnClaim | undefined;
  /**
   * Commit without a wait for the disk. For a turn that its caller hears of only once something later of it is stored,
   * which takes this along. A server store alone may be told so; the embedded one would lose it with the process.
   */
  readonly asyncCommit: boolean;
  /** Reserved with the start, where there is room. */
  readonly reservation?: EstimatedReservation | undefined;
}

export interface TurnStart {
  /** The row as it was written. */
  readonly run: RunRow;
  readonly history: ThreadHistory;
  /** What was reserved: of all budgets that were named, or of some. Undefined: nothing. */
  readonly reserved: { readonly amountMicros: number; readonly isWhole: boolean } | undefined;
}

interface StartRow {
  turn: number | null;
  created_at: Date | null;
  app_id: string | null;
  summary: string | null;
  summary_turn: number | null;
  history: StoredMessage[];
  stale: boolean;
  held: number;
  held_micros: number | null;
}

/** Hint for a client that found the smith busy. */
const LOCK_RETRY_SECONDS = 1;

/** Throws `conversation_locked` while another turn of the smith is in progress. */
export async function startTurn(db: Executor, turn: NewTurn): Promise<TurnStart> {
  const { run, idempotency, reservation } = turn;
  const { rows } = await db.query<StartRow>({
    ...(reservation === undefined ? statement : reservingStatement),
    values: [
      run.project_id,
      run.id,
      run.smith_id,
      run.thread_id,
      run.agent_id,
      run.agent_version,
      run.channel,
      await largeJson(run.input),
      await largeJson(run.config),
      json(run.metadata),
      run.actor === null ? null : json(run.actor),
      run.replay_of,
      run.replica_id,
      await largeJson(turn.messages),
      json({ smith_id: run.smith_id, thread_id: run.thread_id, model: run.config.model }),
      idempotency?.operation ?? null,
      idempotency?.key ?? null,
      idempotency?.fingerprint ?? null,
      run.surface,
      await largeJson(run.requests),
      !turn.stored,
      turn.asyncCommit,
      idempotency?.atOnce === true,
      run.sealed_mcp_credentials,
      ...(reservation === undefined
        ? []
        : [[...reservation.budgetIds], reservation.baseMicros, String(reservation.microsAToken)]),
    ],
  });
  const row = rows[0];
  if (row?.turn == null || row.created_at === null) throw conversationLocked();
  const history = row.stale ? await readHistory(db, run, row.turn) : row;
  return {
    run: {
      ...run,
      turn: row.turn,
      app_id: row.app_id,
      status: 'in_progress',
      // As the columns begin that the statement leaves out.
      output: null,
      stop_reason: null,
      error: null,
      warnings: [],
      ...NOTHING_USED,
      attempt: 1,
      cancel_requested_at: null,
      interrupted_by: null,
      progress_mark: null,
      trial_attempt: null,
      pauses: [],
      hidden_at: turn.stored ? null : row.created_at,
      created_at: row.created_at,
      updated_at: row.created_at,
    },
    history: { summary: history.summary, summaryTurn: history.summary_turn ?? 0, messages: history.history },
    reserved:
      row.held_micros === null || reservation === undefined
        ? undefined
        : { amountMicros: row.held_micros, isWhole: row.held === reservation.budgetIds.length },
  };
}

/**
 * The history once more. A statement that had to wait for the turn before to end got the lock, but sees the thread as it
 * was when it began to wait: without that turn's answer.
 */
async function readHistory(db: Executor, run: NewRun, turn: number) {
  const { rows } = await db.query<Pick<StartRow, 'summary' | 'summary_turn' | 'history'>>({
    text: `
      select t.summary, t.summary_turn, coalesce((
        select ${MESSAGES_AS_JSON} from messages m
        where m.project_id = $1 and m.smith_id = $2 and m.thread_id = $3 and m.turn > t.summary_turn and m.turn < $4
      ), '[]'::jsonb) as history
      from threads t where t.project_id = $1 and t.smith_id = $2 and t.id = $3`,
    values: [run.project_id, run.smith_id, run.thread_id, turn],
  });
  return rows[0] ?? { summary: null, summary_turn: 0, history: [] };
}

/** OpenAI's clients do not repeat a 400 by themselves; the header tells them to. */
export function conversationLocked(): ApiError {
  return new ApiError('conversation_locked', {
    retryAfterSeconds: LOCK_RETRY_SECONDS,
    headers: { 'x-should-retry': 'true' },
  });
}

const THREAD = { project: '$1', smith: '$3', thread: '$4' };

/** Characters of a summary that are taken for a token; the call's own estimate decides. */
const SUMMARY_CHARS_A_TOKEN = 3;

/** Comes after the smith's lock: of the turns that wait for a period, each holds what is its smith's alone. */
const RESERVATION = reserveNamedSql({
  project: '$1',
  holder: '$2',
  source: 'locked',
  ids: '$25::text[]',
  amount: `ceil($26::numeric + $27::numeric * coalesce((
    select sum(m.tokens) + max(coalesce(length(t.summary), 0)) / ${SUMMARY_CHARS_A_TOKEN}
    from threads t join messages m on m.project_id = $1 and m.smith_id = $3 and m.thread_id = $4 and m.turn > t.summary_turn
    where t.project_id = $1 and t.smith_id = $3 and t.id = $4), 0))`,
});

const statement = { text: startSql({ ctes: '', columns: '0 as held, null::bigint as held_micros' }) };
const reservingStatement = {
  text: startSql({
    ctes: `, ${RESERVATION}`,
    columns:
      '(select count(*) from budgets_kept)::int as held, (select max(amount_micros) from budgets_kept) as held_micros',
  }),
};

function startSql({ ctes, columns }: { readonly ctes: string; readonly columns: string }): string {
  return `
    with locked as (
      insert into runs (project_id, id, smith_id, thread_id, turn, agent_id, agent_version, status, channel,
                        input, config, metadata, actor, replay_of, replica_id, surface, requests, hidden_at,
                        sealed_mcp_credentials, app_id)
      select $1, $2, $3, $4,
             ${nextTurnSql(THREAD)},
             $5, $6, 'in_progress', $7, $8, $9, $10, $11, $12, $13, $19, $20,
             case when $21::boolean then now() end, $24::text,
             (select t.app_id from tokens t where t.project_id = $1 and t.id = $11::jsonb ->> 'token_id')
      on conflict (project_id, smith_id) where status = 'in_progress' do nothing
      returning turn, created_at, app_id
    ), thread as (
      ${countTurnSql(THREAD, 'locked')}
    ), question as (
      ${insertQuestionSql(THREAD, { source: 'locked', run: '$2', messages: '$14::jsonb' })}
    ), frame as (
      insert into run_events (project_id, run_id, seq, type, data) select $1, $2, 1, 'run.started', $15::jsonb from locked
    ), claim as (
      insert into idempotency_keys (project_id, operation, key, fingerprint, run_id, at_once, expires_at)
      select $1, $16::text, $17::text, $18::text, $2, $23::boolean, now() + interval '24 hours' from locked where $17::text is not null
    )${ctes}
    select l.turn, l.created_at, l.app_id, t.summary, t.summary_turn, coalesce(h.history, '[]'::jsonb) as history,
      -- Sees the statement's beginning, not its own insert: a turn that was in progress then has ended since.
      exists (select 1 from runs r where r.project_id = $1 and r.smith_id = $3 and r.status = 'in_progress') as stale, ${columns},
      case when $22::boolean then set_config('synchronous_commit', 'off', true) end
    from (values (1)) as one (row)
    left join locked l on true
    left join threads t on t.project_id = $1 and t.smith_id = $3 and t.id = $4
    left join lateral (
      select ${MESSAGES_AS_JSON} as history from messages m
      where m.project_id = $1 and m.smith_id = $3 and m.thread_id = $4 and m.turn > coalesce(t.summary_turn, 0)
    ) h on l.turn is not null`;
}
