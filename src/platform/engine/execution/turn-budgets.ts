/** What a turn reserves of the budgets that block it, before each of its model calls. */
import type { Database } from '../../../kernel/db/database.ts';
import { DEFAULT_ANSWER_TOKENS, priceWorstCase, releaseBudgets, reserveBudgets } from '../../budgets/index.ts';
import type { LiveTurn } from '../timeline/live-turn.ts';
import type { TurnState } from './turn-state.ts';

export interface BudgetDependencies {
  readonly db: Database;
  /** Whether an earlier attempt at this turn was cut off, and may have left a reservation. */
  readonly restarted: boolean;
  /** How long a call waits for others to give back what they reserved; a default where undefined. */
  readonly budgetWaitMs: number | undefined;
}

/**
 * Reserves what the call may cost at most, until the next commit that says what it did. Nothing where no blocking budget
 * applied as the turn began. Throws `budget_exceeded`, or the reason of the turn's abort.
 */
export async function reserveForCall(
  { db, restarted, budgetWaitMs: waitMs }: BudgetDependencies,
  { key, abort }: LiveTurn,
  state: TurnState,
  promptTokens: number,
  answerTokens: number | undefined = state.config.settings.answer.max_output_tokens ?? state.maxOutputTokens,
): Promise<void> {
  const { budgets, config, agentId } = state;
  if (!budgets.apply || budgets.isHeld) return;
  const holder = { projectId: key.projectId, holder: key.runId };
  if (restarted && !budgets.isOwn) await releaseBudgets(db, holder);
  budgets.isOwn = true;
  budgets.isHeld = await reserveBudgets(db, {
    ...holder,
    smithId: key.smithId,
    agentId,
    amountMicros: priceWorstCase(config.model, promptTokens, answerTokens ?? DEFAULT_ANSWER_TOKENS),
    signal: abort.signal,
    waitMs,
  });
}
