/** What a turn can call. Every source of tools (client-side, hosted, MCP, skills) gives tools of this one shape. */
import type { JsonObject } from '../tables.ts';

export interface ToolCall {
  /** Stable across a resumption: a tool that keeps it can tell a repetition from a new call. */
  readonly callId: string;
  readonly args: JsonObject;
  readonly projectId: string;
  readonly smithId: string;
  readonly runId: string;
  /** Fires when the turn is cancelled or leaves this server. */
  readonly signal: AbortSignal;
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
  /** Runs the call on this server. Absent: the client runs it, and the turn pauses until it brings the result. */
  readonly execute?: (call: ToolCall) => Promise<ToolOutcome>;
}

/**
 * What a call gave: a result, or an error, which the model sees. `forModel` is the result in the words that a model
 * reads best; without it the model is given the JSON.
 */
export type ToolOutcome = { readonly output: JsonObject; readonly forModel?: string } | { readonly error: string };

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

/** Gives the tools of a turn. */
export interface ToolSource {
  toolsFor(turn: ToolSourceTurn): Promise<readonly Tool[]> | readonly Tool[];
}

export interface ToolSourceTurn {
  readonly projectId: string;
  readonly smithId: string;
  readonly hostedTools: readonly string[];
  readonly fileSearch: FileSearchConfig | null;
  readonly memory: MemoryConfig | null;
  readonly skills: readonly OfferedSkill[];
  /** Undefined: none is offered. */
  readonly ui: UiConfig | undefined;
}
