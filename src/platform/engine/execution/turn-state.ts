/** The state of an execution, in memory. */
import type { Actor } from '../../tables.ts';
import type { ListedTools } from '../../tools/request-servers.ts';
import type { UsedByRun } from '../store/run-row.ts';
import type { StoredMessage, ThreadHistory, ToolStep, TurnConfig, Warning } from '../turn.ts';

/** Fresh, or as the last attempt left it. */
export interface TurnState {
  readonly config: TurnConfig;
  readonly actor: Actor | null;
  /** Tokens. */
  readonly contextWindow: number;
  readonly maxOutputTokens: number | undefined;
  history: ThreadHistory;
  /** Tool calls that have no result yet. */
  openCalls: ToolStep[];
  /** Every call of the turn so far, for the output. */
  readonly calls: ToolStep[];
  nextPosition: number;
  nextMessage: number;
  modelCalls: number;
  /** What the turn has used so far, earlier attempts and the time before a pause included. */
  readonly usage: { -readonly [Member in keyof UsedByRun]: UsedByRun[Member] };
  readonly warnings: Warning[];
  /** As the run began with it. */
  readonly agentId: string | null;
  readonly budgets: TurnBudgets;
  /** What MCP servers of the request have listed for this run before, by label. */
  readonly requestLists: ReadonlyMap<string, ListedTools>;
}

/** What the turn has to do with budgets that block. */
export interface TurnBudgets {
  /** Whether one applied as the turn began, or went on. */
  readonly apply: boolean;
  /** What is reserved of each for the call under way or the next one; 0: nothing. Micro-dollars. */
  heldMicros: number;
  /** Something may be reserved besides: an earlier attempt's, or of some of the budgets only. */
  hasLeftover: boolean;
}

export function budgetsAtStart(apply: boolean, held: Partial<Omit<TurnBudgets, 'apply'>> = {}): TurnBudgets {
  return { apply, heldMicros: 0, hasLeftover: false, ...held };
}

/** Puts messages behind what the next model call will see. */
export function remember(state: TurnState, ...messages: readonly StoredMessage[]): void {
  state.history = { ...state.history, messages: [...state.history.messages, ...messages] };
}

/** The text of the model's newest message of this turn. */
export function lastSaid(state: TurnState, turn: number): string {
  const message = state.history.messages.findLast((each) => each.turn === turn && each.role === 'assistant');
  if (message === undefined) return '';
  if (typeof message.content === 'string') return message.content;
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** Adds a warning once. */
export function warn(state: TurnState, code: string, message: string): void {
  if (state.warnings.some((warning) => warning.code === code && warning.message === message)) return;
  state.warnings.push({ code, message });
}
