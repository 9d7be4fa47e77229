/** What a turn reserves of the budgets that block it, before each of its model calls. */
import type { Database } from '../../../kernel/db/database.ts';
import { DEFAULT_ANSWER_TOKENS, priceWorstCase, releaseBudgets, reserveBudgets } from '../../budgets/index.ts';
import { DEFAULT_CONTEXT_WINDOW } from '../../models/catalogue.ts';
import { estimatePromptTokens, findModel } from '../../models/index.ts';
import { buildPrompt } from '../context/build-prompt.ts';
import type { EstimatedReservation } from '../store/start-turn.ts';
import type { LiveTurn } from '../timeline/live-turn.ts';
import type { TurnConfig } from '../turn.ts';
import type { TurnState } from './turn-state.ts';

export interface BudgetDependencies {
  readonly db: Database;
  /** How long a call waits for others to give back what they reserved; a default where undefined. */
  readonly budgetWaitMs: number | undefined;
}

/**
 * Reserves what the call may cost at most, until the next commit that says what it did. Nothing where no blocking budget
 * applied as the turn began, nor where as much is reserved already. Throws `budget_exceeded`, or the reason of the turn's abort.
 */
export async function reserveForCall(
  { db, budgetWaitMs: waitMs }: BudgetDependencies,
  { key, abort }: LiveTurn,
  state: TurnState,
  promptTokens: number,
  answerTokens: number | undefined = state.config.settings.answer.max_output_tokens ?? state.maxOutputTokens,
): Promise<void> {
  const { budgets, config, agentId } = state;
  if (!budgets.apply) return;
  const amountMicros = priceWorstCase(config.model, promptTokens, answerTokens ?? DEFAULT_ANSWER_TOKENS);
  if (budgets.heldMicros > 0 && budgets.heldMicros >= amountMicros) return;
  const holder = { projectId: key.projectId, holder: key.runId, attempt: key.attempt };
  if (budgets.heldMicros > 0 || budgets.hasLeftover) await releaseBudgets(db, holder);
  Object.assign(budgets, { heldMicros: 0, hasLeftover: false });
  const isHeld = await reserveBudgets(db, {
    ...holder,
    smithId: key.smithId,
    agentId,
    amountMicros,
    signal: abort.signal,
    waitMs,
  });
  if (isHeld) budgets.heldMicros = amountMicros;
}

/** What a tool's definition is taken to add to the prompt before it is known. */
const TOKENS_A_TOOL = 128;
/** Tools that a turn may have besides those that it names. */
const OTHER_TOOLS = 2;
/** What a token of the prompt costs is read off the price of so many: no model charges more for so few. */
const PRICED_TOKENS = 100_000;

/**
 * What the statement that starts a turn is to reserve for its first call: all but its thread's history, which comes from that
 * statement. Undefined where the model costs nothing. Where the call needs more than this, it reserves that by itself.
 */
export function estimateFirstCall(
  budgets: readonly { readonly id: string }[],
  config: TurnConfig,
  messageTokens: number,
): EstimatedReservation | undefined {
  if (budgets.length === 0) return undefined;
  const { settings, model, hosted_tools: hosted } = config;
  const known = findModel(model);
  const microsAToken = priceWorstCase(model, PRICED_TOKENS, 0) / PRICED_TOKENS;
  const history = { summary: null, summaryTurn: 0, messages: [] };
  const fixed = estimatePromptTokens(buildPrompt(config, history, known?.contextWindow ?? DEFAULT_CONTEXT_WINDOW));
  const tools = (settings.tools.client.length + hosted.length + OTHER_TOOLS) * TOKENS_A_TOOL;
  const answer = settings.answer.max_output_tokens ?? known?.maxOutputTokens ?? DEFAULT_ANSWER_TOKENS;
  const baseMicros = priceWorstCase(model, fixed + tools + messageTokens, answer);
  return baseMicros === 0 ? undefined : { budgetIds: budgets.map(({ id }) => id), baseMicros, microsAToken };
}
