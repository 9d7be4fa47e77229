/** What a model is asked with, besides the prompt: tools, their choice, sampling, format and effort. */
import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { isReasoningEffort, reasoningOptions } from '../../models/index.ts';
import type { Tool } from '../../tools/tool.ts';
import type { ToolChoice, TurnConfig } from '../turn.ts';

export interface AskedModel {
  readonly config: TurnConfig;
  readonly prompt: LanguageModelV4Prompt;
  readonly tools: readonly Tool[];
  /** Whether the turn has not had an answer yet. */
  readonly isFirst: boolean;
}

/** A tool's definition is the same object each time, so that what it takes of a prompt is counted once a turn. */
export function functionTools(tools: readonly Tool[]): LanguageModelV4FunctionTool[] {
  return tools.map((tool) => {
    const known = definitions.get(tool);
    if (known !== undefined) return known;
    const definition = defineFunction(tool);
    definitions.set(tool, definition);
    return definition;
  });
}

const definitions = new WeakMap<Tool, LanguageModelV4FunctionTool>();

function defineFunction({ name, description, parameters, strict }: Tool): LanguageModelV4FunctionTool {
  return {
    type: 'function',
    name,
    description,
    inputSchema: parameters,
    ...(strict === undefined ? {} : { strict }),
  };
}

export function callOptions({ config, prompt, tools, isFirst }: AskedModel): LanguageModelV4CallOptions {
  const { choice } = config.settings.tools;
  const forced = isFirst && typeof choice === 'object' && 'server' in choice ? toolsChosen(choice, tools) : undefined;
  const offered = functionTools(forced ?? tools);
  const { sampling, answer } = config.settings;
  const { format, reasoning_effort: effort, max_output_tokens: maxOutputTokens } = answer;
  return {
    prompt,
    ...(offered.length === 0 ? {} : { tools: offered }),
    // A forced choice holds for the first call of the turn; held longer, the turn could never answer.
    ...(offered.length === 0 || choice === 'auto'
      ? {}
      : choice === 'none'
        ? { toolChoice: { type: 'none' as const } }
        : !isFirst
          ? {}
          : { toolChoice: forceChoice(choice, offered) }),
    ...(maxOutputTokens === null ? {} : { maxOutputTokens }),
    ...(sampling.temperature === null ? {} : { temperature: sampling.temperature }),
    ...(sampling.top_p === null ? {} : { topP: sampling.top_p }),
    ...(sampling.stop.length === 0 ? {} : { stopSequences: [...sampling.stop] }),
    ...(format.type === 'text'
      ? {}
      : {
          responseFormat: {
            type: 'json' as const,
            ...(format.name === undefined ? {} : { name: format.name }),
            ...(format.schema === undefined ? {} : { schema: format.schema }),
          },
        }),
    ...reasoningOptions(config.model, effort !== null && isReasoningEffort(effort) ? effort : undefined),
  };
}

/** The tools of the MCP server that the choice names, or the one of them. */
export function toolsChosen(
  { server, tool: name }: Extract<ToolChoice, { readonly server: string }>,
  tools: readonly Tool[],
): readonly Tool[] {
  return tools.filter(
    ({ target }) => target?.server_label === server && (name === undefined || target.tool_name === name),
  );
}

function forceChoice(
  choice: Exclude<ToolChoice, 'auto' | 'none'>,
  offered: readonly LanguageModelV4FunctionTool[],
): NonNullable<LanguageModelV4CallOptions['toolChoice']> {
  if (choice !== 'required' && 'name' in choice) return { type: 'tool', toolName: choice.name };
  // Of a server, its tools alone are offered.
  const [only, ...more] = offered;
  const isOne = choice !== 'required' && only !== undefined && more.length === 0;
  return isOne ? { type: 'tool', toolName: only.name } : { type: 'required' };
}
