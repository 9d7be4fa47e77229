/** Reads a paused or orphaned turn back, as an executor needs it. */
import type { Executor } from '../../../kernel/db/database.ts';
import { type BlockingBudget, blockingBudgetsSql } from '../../budgets/index.ts';
import type { JsonObject } from '../../tables.ts';
import type { ListedTools } from '../../tools/request-servers.ts';
import { budgetsAtStart, type TurnState } from '../execution/turn-state.ts';
import { SEQ_JUMP, type StepStatus, type StoredMessage, type ToolStep } from '../turn.ts';
import { type RunRow, usedBy } from './run-row.ts';
import { readTurnConfig } from './stored-config.ts';

interface StoredTurn {
  steps: {
    position: number;
    kind: string;
    status: StepStatus;
    name: string;
    call_id: string | null;
    input: JsonObject | null;
    output: JsonObject | null;
    error: string | null;
    target: JsonObject | null;
    approval: StoredApproval | null;
    connection: ToolStep['connection'] | null;
  }[];
  messages: StoredMessage[];
  summary: string | null;
  summary_turn: number | null;
  last_seq: number;
  budgets: BlockingBudget[];
}

/** The newest of the call. */
interface StoredApproval {
  id: string;
  status: 'pending' | 'approved' | 'rejected' | 'expired';
  /** Of a question. */
  elicitation: { message: string; requested_schema: JsonObject } | null;
  content: JsonObject | null;
  question_state: JsonObject | null;
  holder: string | null;
}

export interface ResumableTurn {
  readonly state: Omit<TurnState, 'contextWindow' | 'maxOutputTokens'>;
  /** Number of the last stored frame. */
  readonly lastSeq: number;
  /** Budgets that block it. */
  readonly budgets: readonly BlockingBudget[];
}

export async function loadTurn(db: Executor, run: RunRow): Promise<ResumableTurn> {
  const { rows } = await db.query<StoredTurn>({
    ...statement,
    values: [run.project_id, run.id, run.smith_id, run.thread_id, run.turn, run.agent_id],
  });
  const row = rows[0];
  if (row === undefined) throw new Error(`Run ${run.id} has vanished`);
  const calls = row.steps.flatMap((step): ToolStep[] =>
    step.kind !== 'tool' || step.call_id === null
      ? []
      : [
          {
            position: step.position,
            callId: step.call_id,
            name: step.name,
            input: step.input ?? {},
            status: step.status,
            output: step.output,
            error: step.error,
            ...(step.target === null ? {} : { target: step.target }),
            ...(step.approval === null ? {} : describeApproval(step.approval)),
            ...(step.connection == null ? {} : { connection: step.connection }),
          },
        ],
  );
  const own = row.messages.filter((message) => message.turn === run.turn);
  return {
    lastSeq: row.last_seq,
    budgets: row.budgets,
    state: {
      config: readTurnConfig(run.config),
      actor: run.actor,
      history: { summary: row.summary, summaryTurn: row.summary_turn ?? 0, messages: row.messages },
      openCalls: calls.filter((step) => step.status !== 'completed'),
      calls,
      nextPosition: row.steps.reduce((next, step) => Math.max(next, step.position + 1), 0),
      nextMessage: own.reduce((next, message) => Math.max(next, message.position + 1), 0),
      modelCalls: row.steps.filter((step) => step.kind === 'model').length,
      usage: usedBy(run),
      warnings: run.warnings,
      agentId: run.agent_id,
      budgets: budgetsAtStart(row.budgets.length > 0),
      requestLists: new Map(
        row.steps.flatMap(({ kind, name, output }) =>
          kind === 'mcp_list' ? [[name, output as unknown as ListedTools] as const] : [],
        ),
      ),
    },
  };
}

function describeApproval({
  id,
  status,
  elicitation,
  content,
  question_state: state,
  holder,
}: StoredApproval): Pick<ToolStep, 'approvalId' | 'question' | 'answer' | 'holder'> {
  if (elicitation === null) return { approvalId: id };
  const { message, requested_schema: requestedSchema } = elicitation;
  const held = { approvalId: id, ...(holder === null ? {} : { holder }) };
  if (status === 'pending') return { ...held, question: { message, requestedSchema } };
  return { ...held, answer: { action: ACTIONS[status], content, state: state ?? {} } };
}

const ACTIONS = { approved: 'accept', rejected: 'decline', expired: 'cancel' } as const;

/** The replicas that hold calls open which have been answered; who was asked last comes first. */
export function holdersOf({ state }: Pick<ResumableTurn, 'state'>): string[] {
  return state.openCalls
    .flatMap(({ answer, holder }) => (answer === undefined || holder === undefined ? [] : [holder]))
    .reverse();
}

/**
 * The first number of a new attempt, beyond everything that an earlier one can have shown. Attempts that died before they
 * stored a frame leave `lastSeq` where it was, so each has numbers of its own.
 */
export function seqAfterRestart(lastSeq: number, attempt: number): number {
  return lastSeq + attempt * SEQ_JUMP;
}

/**
 * The thread as the turn found it: later turns, which ran while it was paused, are not its past. Its own messages are
 * there even where a later turn has folded them into the summary already.
 */
const statement = {
  text: `
    select
      coalesce((
        select jsonb_agg(jsonb_build_object('position', s.position, 'kind', s.kind, 'status', s.status, 'name', s.name,
          'call_id', s.call_id, 'input', s.input, 'output', s.output, 'error', s.error, 'target', s.target,
          'approval', a.approval, 'connection', w.connection) order by s.position)
        from run_steps s
        left join lateral (
          select jsonb_build_object('id', a.id, 'status', a.status, 'elicitation', a.elicitation, 'content', a.content,
            'question_state', a.question_state, 'holder', a.holder) as approval
          from approvals a
          where a.project_id = s.project_id and a.run_id = s.run_id and a.tool_call_id = s.call_id
          order by a.created_at desc, a.id desc limit 1
        ) a on true
        left join lateral (
          select jsonb_build_object('provider', w.provider, 'mcp_server', w.mcp_server,
            'authorize_url', w.authorize_url) as connection
          from connection_waits w
          where w.project_id = s.project_id and w.run_id = s.run_id and w.call_id = s.call_id
        ) w on true
        where s.project_id = $1 and s.run_id = $2
      ), '[]'::jsonb) as steps,
      coalesce((
        select jsonb_agg(jsonb_build_object('turn', m.turn, 'position', m.position, 'role', m.role,
          'content', m.content, 'tokens', m.tokens) order by m.turn, m.position)
        from messages m
        where m.project_id = $1 and m.smith_id = $3 and m.thread_id = $4
          and (m.turn = $5 or m.turn > t.summary_turn and m.turn < $5)
      ), '[]'::jsonb) as messages,
      t.summary, t.summary_turn,
      coalesce((select max(seq) from run_events e where e.project_id = $1 and e.run_id = $2), 0) as last_seq,
      ${blockingBudgetsSql({ project: '$1', agent: '$6', smith: '$3', customer: 's.customer_id' })} as budgets
    from threads t join smiths s on s.project_id = t.project_id and s.id = t.smith_id
    where t.project_id = $1 and t.smith_id = $3 and t.id = $4`,
};
