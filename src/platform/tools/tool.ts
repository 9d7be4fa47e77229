/** What a turn can call. Every source of tools (client-side, hosted, MCP, skills) gives tools of this one shape. */
import type { Executor } from '../../kernel/db/database.ts';
import type { JsonObject } from '../tables.ts';
import type { OfferedRequestServer } from './request-servers.ts';

export interface ToolCall {
  /** Stable across a resumption: a tool that keeps it can tell a repetition from a new call. */
  readonly callId: string;
  readonly args: JsonObject;
  readonly projectId: string;
  readonly smithId: string;
  readonly runId: string;
  /** What became of the question that this call asked; undefined while it has asked none. */
  readonly answer: ToolAnswer | undefined;
  /** An earlier execution has begun it, and its server died: it is made again, or gone on with. */
  readonly wasBegun: boolean;
  /** Fires when the turn is cancelled or leaves this server. */
  readonly signal: AbortSignal;
}

/** What a call asks a person before it can give its result. The run pauses, and lets go of its smith, until it is answered. */
export interface ToolQuestion {
  readonly message: string;
  /** JSON Schema of what the person enters: an object. It is a caller's or a server's, and checked as such. */
  readonly requestedSchema: JsonObject;
  /** Given back to the tool with the answer, on whichever replica that comes. */
  readonly state: JsonObject;
  /** Only this replica can carry the answer on, which is brought to it; the question closes when the replica goes. */
  readonly hold?: QuestionHold;
  /** When it closes by itself; absent: never. */
  readonly expiresAt?: Date;
}

/** What a replica keeps open while a question waits. */
export interface QuestionHold {
  /** Resolves when nobody waits for the answer any more, such as a server that gave up: the question closes. */
  readonly over: Promise<void>;
  /** Lets go: the run has ended, and nobody will answer. Any number of times. */
  end(): void;
}

/** `decline`: the person said no. `cancel`: nobody answered, and the question has closed itself. */
export interface ToolAnswer {
  readonly action: 'accept' | 'decline' | 'cancel';
  /** What the person entered, defaults filled in, an instance of the question's schema; null unless accepted. */
  readonly content: JsonObject | null;
  /** Of the question. */
  readonly state: JsonObject;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject;
  readonly strict?: boolean;
  /** A person must approve each call before it runs. */
  readonly requiresApproval: boolean;
  /** A call whose outcome is unknown, because its server died, may be made again. */
  readonly repeatable: boolean;
  /** Whether such a call need not be made again, because any server can go on with it by executing it again. Absent: never. */
  readonly canGoOn?: (call: Pick<ToolCall, 'projectId' | 'runId' | 'callId'>) => Promise<boolean>;
  /**
   * What a call of it would reach, such as a server and the version of the tool there; recorded with each call before it is
   * made. A call that a person has approved, and whose tool has another target since, is not made.
   */
  readonly target?: JsonObject;
  /** Runs the call on this server. Absent: the client runs it, and the turn pauses until it brings the result. */
  readonly execute?: (call: ToolCall) => Promise<ToolOutcome>;
}

/**
 * What a call gave: a result, or an error, which the model sees; or a question, or the need of an account, after which the call is
 * executed again. `forModel` is the result as a model reads it best: words, or parts; without it the model is given the JSON.
 */
export type ToolOutcome =
  | { readonly output: JsonObject; readonly forModel?: string | readonly ResultPart[] }
  | { readonly error: string }
  | { readonly question: ToolQuestion }
  | { readonly connection: ConnectionNeed };

/**
 * An account that the smith's user must connect before the call can be made. Where somebody can see to that, the run pauses
 * until it is connected; elsewhere the model is told, with the link.
 */
export interface ConnectionNeed {
  /** Which connection of the smith: a provider, or `mcp:<server>`. */
  readonly key: string;
  readonly provider: string;
  readonly mcpServer: string;
  /** Where the user connects one; null: there is no such place. */
  readonly authorizeUrl: string | null;
  /** Whether one was connected, or renewed, since the call looked for it. */
  readonly hasChanged: (db: Executor) => Promise<boolean>;
}

/** A piece of a result: text, or a file of the project, whose bytes join the prompt. */
export type ResultPart =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'file';
      readonly fileId: string;
      readonly filename: string;
      readonly mediaType: string;
      readonly bytes: number;
    };

/** Which stores the turn's `file_search` looks into, and how; the members as the API has them. */
export interface FileSearchConfig {
  readonly vector_store_ids: readonly string[];
  readonly max_num_results: number | null;
  readonly filters: JsonObject | null;
  readonly ranking_options: JsonObject | null;
}

/** What the turn has of the smith's memory. */
export interface MemoryConfig {
  /** Working memory as it was when the turn began. */
  readonly content: string;
  /** The smith keeps facts by itself, and may look back. */
  readonly auto: boolean;
  readonly consolidate: boolean;
  /** The turn is indexed for recall when it has ended. */
  readonly indexed: boolean;
}

/** A skill in the version that the turn began with. */
export interface OfferedSkill {
  readonly skill_id: string;
  readonly version: number;
  readonly name: string;
  readonly description: string;
}

/** What became of the skills that the turn's configuration names. */
export interface SkillsConfig {
  readonly offered: readonly OfferedSkill[];
  /** Deleted since they were named. */
  readonly missing: readonly { readonly skill_id: string; readonly version?: number }[];
}

/** A UI resource whose tool the turn's model is offered. */
export interface OfferedUi {
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonObject;
  readonly instruction: string | null;
  readonly mutating: boolean;
}

/** The UI resources of the agent's version that the turn began with, as far as its model is offered them. */
export interface UiConfig {
  readonly agent_id: string;
  readonly offered: readonly OfferedUi[];
}

/** MCP servers whose tools the turn's model is offered. */
export interface McpConfig {
  /** `hash`: the list of tools that the turn began with; null: the server had listed none. */
  readonly servers: readonly { readonly id: string; readonly name: string; readonly hash: string | null }[];
  /** Deleted since the configuration named them. */
  readonly missing: readonly string[];
}

/** Gives the tools of a turn. */
export interface ToolSource {
  toolsFor(turn: ToolSourceTurn): Promise<OfferedTools> | OfferedTools;
}

export interface OfferedTools {
  readonly tools: readonly Tool[];
  /** Why something that was asked for is not among them; shown with the run. */
  readonly warnings?: readonly { readonly code: string; readonly message: string }[];
}

export interface ToolSourceTurn {
  readonly projectId: string;
  readonly smithId: string;
  readonly runId: string;
  readonly hostedTools: readonly string[];
  readonly fileSearch: FileSearchConfig | null;
  readonly memory: MemoryConfig | null;
  readonly skills: readonly OfferedSkill[];
  readonly mcp: McpConfig | null;
  /** MCP servers that the turn's request brought, with what they list. */
  readonly requestServers: readonly OfferedRequestServer[];
  /** Undefined: none is offered. */
  readonly ui: UiConfig | undefined;
}
