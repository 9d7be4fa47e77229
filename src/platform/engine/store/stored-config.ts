/** `runs.config` as rows have it: of today's shape, or of the flat one that runs were stored in before settings nested. */
import type { FileSearchConfig, MemoryConfig } from '../../tools/tool.ts';
import type { ClientTool, ResponseFormat, ToolChoice, TurnConfig, TurnOverrides } from '../turn.ts';

/** Members of both shapes may be read as they are; for the others, `readTurnConfig`. */
export type StoredConfig = TurnConfig | FlatConfig;

interface FlatConfig {
  readonly overrides: TurnOverrides;
  readonly model: string;
  readonly instructions: string;
  readonly hosted_tools: readonly string[];
  readonly tools: readonly ClientTool[];
  /** Absent in turns that are older than `file_search`. */
  readonly file_search?: FileSearchConfig | null;
  /** Absent in turns that are older than memory. */
  readonly memory?: MemoryConfig | null;
  readonly tool_choice: ToolChoice;
  readonly response_format: ResponseFormat;
  readonly reasoning_effort: string | null;
  readonly max_output_tokens: number | null;
  readonly temperature: number | null;
  readonly top_p: number | null;
  readonly stop: readonly string[];
}

export function readTurnConfig(stored: StoredConfig): TurnConfig {
  if ('settings' in stored) return stored;
  return {
    settings: {
      overrides: stored.overrides,
      sampling: { temperature: stored.temperature, top_p: stored.top_p, stop: stored.stop },
      answer: {
        format: stored.response_format,
        reasoning_effort: stored.reasoning_effort,
        max_output_tokens: stored.max_output_tokens,
      },
      // Which stores the request brought was not told apart from the smith's own.
      tools: { client: stored.tools, choice: stored.tool_choice, file_search: null },
    },
    model: stored.model,
    instructions: stored.instructions,
    hosted_tools: stored.hosted_tools,
    file_search: stored.file_search ?? null,
    memory: stored.memory ?? null,
  };
}
