/**
 * A turn: one question to a smith and everything until its answer.
 *
 *   start ─▶ in_progress ─▶ completed | failed | cancelled
 *                │   ▲
 *                ▼   │ submit
 *              paused ──▶ cancelled
 *
 * A turn is a list of steps (model call, tool call). What a step did is committed before the next begins
 * (advance-turn.ts), so a crash costs at most the step under way. The partial unique index runs_one_turn_per_smith
 * allows one in_progress run a smith; a paused run holds nothing and takes the lock again when it resumes.
 *
 * The executing replica holds a lease: runs.replica_id names it, its row in `replicas` has its heartbeat, runs.attempt
 * counts the takings-over. Every write of an executor names replica and attempt, so one that has lost its turn (a long
 * stall, a network cut) writes nothing more and stops.
 *
 * A tool call is recorded before it runs, with a call id that the tool is given. A resumed turn never repeats a finished
 * call; one that was under way is repeated only where the tool says that it may be. A call may ask a person something: its
 * question is an approval with an `elicitation`, and the call is executed again with the answer.
 *
 * A turn that was under way when its replica ended abruptly may be what ended it: runs.interrupted_by counts those ends,
 * and a turn that ends one replica after the other is set aside (replica/takeover.ts).
 */
import type { LanguageModelV4Message } from '@ai-sdk/provider';
import type { JsonObject } from '../tables.ts';
import type { RequestServer } from '../tools/request-servers.ts';
import type {
  FileSearchConfig,
  McpConfig,
  MemoryConfig,
  SkillsConfig,
  ToolAnswer,
  ToolQuestion,
  UiConfig,
} from '../tools/tool.ts';

/** Steps of one turn before it is called a loop. */
export const MAX_STEPS = 64;
/**
 * How far a new attempt's sequence numbers jump ahead. A dead attempt may have shown its reader frames that were never
 * stored; the jump is larger than what it can have held back (see MAX_UNFLUSHED_FRAMES in live-turn.ts).
 */
export const SEQ_JUMP = 1_000_000;

export interface ClientTool {
  readonly name: string;
  readonly description?: string;
  readonly parameters: JsonObject;
  readonly strict?: boolean;
  readonly requires_approval: boolean;
}

/** `server`: the label or name of an MCP server, with or without one of its tools. */
export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { readonly name: string }
  | { readonly server: string; readonly tool?: string };

export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json'; readonly name?: string; readonly schema?: JsonObject };

/** Replaced or added for this turn alone. */
export interface TurnOverrides {
  readonly model?: string;
  /** Appended to the smith's instructions. */
  readonly instructions?: string;
}

/** What a request asks of its turn; carried as it is from the request to `runs.config`. Null: not given. */
export interface TurnSettings {
  readonly overrides: TurnOverrides;
  readonly sampling: {
    readonly temperature: number | null;
    readonly top_p: number | null;
    readonly stop: readonly string[];
  };
  readonly answer: {
    readonly format: ResponseFormat;
    readonly reasoning_effort: string | null;
    readonly max_output_tokens: number | null;
  };
  readonly tools: {
    /** Functions that the caller runs. */
    readonly client: readonly ClientTool[];
    readonly choice: ToolChoice;
    /** Stores to search in place of the smith's own. */
    readonly file_search: FileSearchConfig | null;
    /** MCP servers that the request brought; absent: none. */
    readonly mcp?: readonly RequestServer[];
    /** A call that lacks an account pauses the run until one is connected; absent: the model is told. */
    readonly pauses_to_connect?: true;
  };
}

/** Everything that a turn runs with; fixed in `runs.config` when it starts. Older rows: see store/stored-config.ts. */
export interface TurnConfig {
  readonly settings: TurnSettings;
  readonly model: string;
  /** Rendered instructions, the turn's own appended. */
  readonly instructions: string;
  readonly hosted_tools: readonly string[];
  /** The stores that `file_search` searches; null: the turn has no `file_search`. */
  readonly file_search: FileSearchConfig | null;
  /** Null: the turn has no memory. */
  readonly memory: MemoryConfig | null;
  /** Absent: the turn's configuration names none. */
  readonly skills?: SkillsConfig;
  /** Absent: the turn's agent has no UI resource that is a tool. */
  readonly ui?: UiConfig;
  /** Absent: the turn calls no MCP server. */
  readonly mcp?: McpConfig;
}

export interface TurnKey {
  readonly projectId: string;
  readonly smithId: string;
  readonly threadId: string;
  readonly runId: string;
  readonly turn: number;
  readonly attempt: number;
}

export interface Warning {
  readonly code: string;
  readonly message: string;
}

export interface RunFailure {
  readonly code: string;
  readonly message: string;
}

/** A message as the model sees it, with its size in tokens (estimated). */
export interface StoredMessage {
  readonly turn: number;
  readonly position: number;
  readonly role: LanguageModelV4Message['role'];
  readonly content: LanguageModelV4Message['content'];
  readonly tokens: number;
}

/** A thread as a turn finds it: its messages since the summary, in order. */
export interface ThreadHistory {
  readonly summary: string | null;
  readonly summaryTurn: number;
  readonly messages: StoredMessage[];
}

/**
 * `approval`: waits for a person, for a decision or an answer. `waiting`: for the client's result. `connection`: until an
 * account is connected. `ready`: may be made, and has not been begun since. `started`: may have been begun.
 */
export type StepStatus = 'approval' | 'waiting' | 'connection' | 'ready' | 'started' | 'completed';

/** Whether somebody must do something before the turn can go on with the call. */
export function isWaiting({ status }: Pick<ToolStep, 'status'>): boolean {
  return status === 'approval' || status === 'waiting' || status === 'connection';
}

export interface ToolStep {
  readonly position: number;
  readonly callId: string;
  readonly name: string;
  readonly input: JsonObject;
  status: StepStatus;
  output: JsonObject | null;
  error: string | null;
  /** What the call would reach: `Tool.target`. */
  readonly target?: JsonObject;
  /** Of its newest approval or question. */
  approvalId?: string;
  /** Set while it waits for an answer to a question. */
  question?: Pick<ToolQuestion, 'message' | 'requestedSchema'>;
  /** The replica that alone can carry on the answer to its newest question. */
  holder?: string;
  /** What became of its newest question. */
  answer?: ToolAnswer;
  /** The account that it waits for, as the API shows it. */
  connection?: { readonly provider: string; readonly mcp_server: string; readonly authorize_url: string };
  /** An earlier attempt began it, and was cut off. */
  wasBegun?: boolean;
}

export type RunStatus = 'in_progress' | 'paused' | 'completed' | 'failed' | 'cancelled';

export function isSettled(status: RunStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** Why an execution was stopped from outside. `detached`: its replica releases the turn, which goes on elsewhere. */
export type StopReason = 'cancelled' | 'detached';

export class TurnStopped extends Error {
  readonly reason: StopReason;
  constructor(reason: StopReason) {
    super(`The turn was ${reason}`);
    this.name = 'TurnStopped';
    this.reason = reason;
  }
}

/** The lease is another's now: the executor must stop and write nothing more. */
export class LeaseLostError extends Error {
  constructor(runId: string) {
    super(`Run ${runId} is executed by another replica now`);
    this.name = 'LeaseLostError';
  }
}
