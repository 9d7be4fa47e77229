/** Makes instructions, memory, tools, history and the answer fit the model's window before a call; see fit-history.ts for how. */
import { systemClock } from '../../../kernel/clock/clock.ts';
import { type ChatModel, estimatePromptTokens, estimateTokens, type ModelCallLimits } from '../../models/index.ts';
import type { Tool } from '../../tools/tool.ts';
import { functionTools } from '../execution/call-options.ts';
import type { TurnJournal } from '../execution/turn-journal.ts';
import { billed, modelRecord } from '../execution/turn-records.ts';
import { type TurnState, warn } from '../execution/turn-state.ts';
import { cutLargest, fitHistory, type HistoryFit, SUMMARY_SHARE } from './fit-history.ts';
import { promptMemory } from './prompt-memory.ts';
import { summarizeThread } from './summarize-thread.ts';

/** Room of the window that the answer may need, unless the turn or the model limits it further. */
const DEFAULT_OUTPUT_RESERVE = 4_096;
/** Whatever the instructions and tools take, this much is left for what was asked. */
const MIN_ROOM = 256;
/** Of the room, what may be sent to the model to summarize. */
const TRANSCRIPT_SHARE = 0.7;

export interface ContextDependencies {
  readonly model: ChatModel;
  readonly modelCall: Partial<ModelCallLimits> | undefined;
  readonly tools: readonly Tool[];
  readonly journal: TurnJournal;
  readonly turn: number;
  readonly signal: AbortSignal;
  /** Called with the tokens of a prompt and of its answer, before the model summarizes. */
  readonly reserve: (promptTokens: number, answerTokens: number) => Promise<void>;
}

/** `windowShare` below 1 is for a model that has refused what our estimate said would fit. */
export async function fitContext(deps: ContextDependencies, state: TurnState, windowShare: number): Promise<void> {
  const room = measureRoom(deps, state, windowShare);
  const fit = fitHistory(state.history, deps.turn, room);
  if (fit.folded.length > 0) await summarizeOldest(deps, state, fit, room);
  const summaryTokens = state.history.summary === null ? 0 : estimateTokens(state.history.summary);
  const { messages, cut } = cutLargest(state.history.messages, room - summaryTokens);
  if (!cut) return;
  state.history = { ...state.history, messages };
  warn(state, 'input_truncated', 'The input is larger than the model’s context window; what is largest was cut.');
}

function measureRoom({ tools }: ContextDependencies, state: TurnState, windowShare: number): number {
  const { config, contextWindow, maxOutputTokens } = state;
  const system = [config.instructions, promptMemory(config, contextWindow)];
  const fixed = estimatePromptTokens(
    system.map((content) => ({ role: 'system', content })),
    functionTools(tools),
  );
  const wanted = config.settings.answer.max_output_tokens ?? maxOutputTokens ?? DEFAULT_OUTPUT_RESERVE;
  const reserve = Math.min(wanted, contextWindow / 4);
  return Math.max(MIN_ROOM, Math.floor((contextWindow - reserve - fixed) * windowShare));
}

/** Folds the oldest turns into the thread's summary, as a step of its own. */
async function summarizeOldest(
  deps: ContextDependencies,
  state: TurnState,
  fit: HistoryFit,
  room: number,
): Promise<void> {
  const startedAt = systemClock.now().toISOString();
  await deps.reserve(room, Math.floor(room * SUMMARY_SHARE));
  const summary = await summarizeThread(
    { model: deps.model, limits: deps.modelCall, signal: deps.signal },
    state.history.summary,
    fit.folded,
    { maxTokens: Math.floor(room * SUMMARY_SHARE), room: Math.floor(room * TRANSCRIPT_SHARE) },
  );
  warn(
    state,
    'history_compacted',
    `Turns up to ${fit.foldedTurn} no longer fit the model’s window and were summarized.`,
  );
  const record = modelRecord(state, {
    startedAt,
    usage: summary.usage,
    finish: summary.byModel ? 'summary' : 'excerpt',
  });
  await deps.journal.commit({
    status: 'in_progress',
    steps: [{ ...record, kind: 'compaction' }],
    summary: { text: summary.text, turn: fit.foldedTurn },
    ...billed(record),
  });
  state.history = { summary: summary.text, summaryTurn: fit.foldedTurn, messages: fit.kept };
}
