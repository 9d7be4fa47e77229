/**
 * The start of turns, in one statement: the lock (a row of runs that the partial unique index allows once a smith), the
 * thread's next turn number, the question, the idempotency key and the first frame commit together or not at all; the
 * thread's history comes back with them. Turns of one project may start together, each for itself: one that finds its smith
 * busy starts nothing, and the others do.
 */
import type { Executor } from '../../../kernel/db/database.ts';
import { json, largeJsonList, largeJsonText } from '../../../kernel/db/values.ts';
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

/** What a turn starts with, as the statement takes it: JSON. */
export interface StartingTurn {
  readonly turn: NewTurn;
  readonly row: string;
  readonly input: string;
  readonly config: string;
  readonly messages: string;
  readonly requests: string;
}

interface StartRow {
  id: string;
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

export async function describeStart(turn: NewTurn): Promise<StartingTurn> {
  const { run, idempotency } = turn;
  const { input, config, requests, project_id: _, ...row } = run;
  const started = { smith_id: run.smith_id, thread_id: run.thread_id, model: config.model };
  return {
    turn,
    row: json({
      ...row,
      started,
      hidden: !turn.stored,
      key_operation: idempotency?.operation,
      key: idempotency?.key,
      key_fingerprint: idempotency?.fingerprint,
      key_at_once: idempotency?.atOnce === true,
    }),
    input: await largeJsonText(input),
    config: await largeJsonText(config),
    messages: await largeJsonText(turn.messages),
    requests: await largeJsonText(requests),
  };
}

/** Throws `conversation_locked` while another turn of the smith is in progress. */
export async function startTurn(db: Executor, turn: NewTurn): Promise<TurnStart> {
  const [start] = await startTurns(db, [await describeStart(turn)]);
  if (start === undefined) throw conversationLocked();
  return start;
}

/**
 * Turns of one project, alike in how they commit. Undefined in the place of one that finds another turn of its smith in
 * progress. One with a reservation comes alone.
 */
export async function startTurns(
  db: Executor,
  starting: readonly StartingTurn[],
): Promise<readonly (TurnStart | undefined)[]> {
  const [first] = starting;
  if (first === undefined) return [];
  const { run, asyncCommit, reservation } = first.turn;
  const { rows } = await db.query<StartRow>({
    ...(reservation === undefined ? statement : reservingStatement),
    values: [
      run.project_id,
      `[${starting.map(({ row }) => row).join(',')}]`,
      await largeJsonList(starting.map(({ input }) => input)),
      await largeJsonList(starting.map(({ config }) => config)),
      await largeJsonList(starting.map(({ messages }) => messages)),
      await largeJsonList(starting.map(({ requests }) => requests)),
      asyncCommit,
      ...(reservation === undefined
        ? []
        : [[...reservation.budgetIds], reservation.baseMicros, String(reservation.microsAToken)]),
    ],
  });
  const found = new Map(rows.map((row) => [row.id, row]));
  return Promise.all(
    starting.map(async ({ turn }) => {
      const row = found.get(turn.run.id);
      if (row?.turn == null || row.created_at === null) return undefined;
      const history = row.stale ? await readHistory(db, turn.run, row.turn) : row;
      return describeStarted(turn, { ...row, turn: row.turn, created_at: row.created_at }, history);
    }),
  );
}

function describeStarted(
  { run, stored, reservation }: NewTurn,
  row: StartRow & { readonly turn: number; readonly created_at: Date },
  history: Pick<StartRow, 'summary' | 'summary_turn' | 'history'>,
): TurnStart {
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
      hidden_at: stored ? null : row.created_at,
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

/** Characters of a summary that are taken for a token; the call's own estimate decides. */
const SUMMARY_CHARS_A_TOKEN = 3;

/** Comes after the smith's lock: of the turns that wait for a period, each holds what is its smith's alone. */
const RESERVATION = reserveNamedSql({
  project: '$1',
  holder: '(select id from locked)',
  source: 'locked',
  ids: '$8::text[]',
  amount: `ceil($9::numeric + $10::numeric * coalesce((
    select sum(m.tokens) + max(coalesce(length(t.summary), 0)) / ${SUMMARY_CHARS_A_TOKEN}
    from threads t join messages m on m.project_id = $1 and m.smith_id = locked.smith_id and m.thread_id = locked.thread_id
      and m.turn > t.summary_turn
    where t.project_id = $1 and t.smith_id = locked.smith_id and t.id = locked.thread_id), 0))`,
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
  const thread = { project: '$1', smith: 'begun.smith_id', thread: 'begun.thread_id' };
  return `
    with asked as (
      select a.*, $3::jsonb -> (a.number - 1)::int as input, $4::jsonb -> (a.number - 1)::int as config,
        $5::jsonb -> (a.number - 1)::int as messages, $6::jsonb -> (a.number - 1)::int as requests
      from rows from (jsonb_to_recordset($2::jsonb) as (
        id text, smith_id text, thread_id text, agent_id text, agent_version int, channel text, metadata jsonb, actor jsonb,
        replay_of text, replica_id text, surface text, sealed_mcp_credentials text, started jsonb, hidden boolean,
        key_operation text, key text, key_fingerprint text, key_at_once boolean
      )) with ordinality as a (
        id, smith_id, thread_id, agent_id, agent_version, channel, metadata, actor, replay_of, replica_id, surface,
        sealed_mcp_credentials, started, hidden, key_operation, key, key_fingerprint, key_at_once, number)
    ), locked as (
      insert into runs (project_id, id, smith_id, thread_id, turn, agent_id, agent_version, status, channel,
                        input, config, metadata, actor, replay_of, replica_id, surface, requests, hidden_at,
                        sealed_mcp_credentials, app_id)
      select $1, a.id, a.smith_id, a.thread_id,
             ${nextTurnSql({ project: '$1', smith: 'a.smith_id', thread: 'a.thread_id' })},
             a.agent_id, a.agent_version, 'in_progress', a.channel, a.input, a.config, a.metadata, a.actor, a.replay_of,
             a.replica_id, a.surface, a.requests, case when a.hidden then now() end, a.sealed_mcp_credentials,
             (select t.app_id from tokens t where t.project_id = $1 and t.id = a.actor ->> 'token_id')
      from asked a
      on conflict (project_id, smith_id) where status = 'in_progress' do nothing
      returning id, smith_id, thread_id, turn, created_at, app_id
    ), begun as (
      select l.*, a.messages, a.started, a.key_operation, a.key, a.key_fingerprint, a.key_at_once
      from locked l join asked a on a.id = l.id
    ), thread as (
      ${countTurnSql(thread, 'begun')}
    ), question as (
      ${insertQuestionSql(thread, { source: 'begun', run: 'begun.id', messages: 'begun.messages' })}
    ), frame as (
      insert into run_events (project_id, run_id, seq, type, data) select $1, id, 1, 'run.started', started from begun
    ), claim as (
      insert into idempotency_keys (project_id, operation, key, fingerprint, run_id, at_once, expires_at)
      select $1, key_operation, key, key_fingerprint, id, key_at_once, now() + interval '24 hours' from begun where key is not null
    )${ctes}
    select a.id, l.turn, l.created_at, l.app_id, t.summary, t.summary_turn, coalesce(h.history, '[]'::jsonb) as history,
      -- Sees the statement's beginning, not its own insert: a turn that was in progress then has ended since.
      exists (select 1 from runs r where r.project_id = $1 and r.smith_id = a.smith_id and r.status = 'in_progress') as stale,
      ${columns}, case when $7::boolean then set_config('synchronous_commit', 'off', true) end
    from asked a
    left join locked l on l.id = a.id
    left join lateral (
      select t.summary, t.summary_turn from threads t
      where t.project_id = $1 and t.smith_id = a.smith_id and t.id = a.thread_id limit 1
    ) t on true
    left join lateral (
      select ${MESSAGES_AS_JSON} as history from messages m
      where m.project_id = $1 and m.smith_id = a.smith_id and m.thread_id = a.thread_id and m.turn > coalesce(t.summary_turn, 0)
    ) h on l.turn is not null`;
}
