/** Everything that a turn runs with: what its smith is set to, and what the request asks for this turn. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { effectiveConfig } from '../../configuration/effective-config.ts';
import { MAX_INSTRUCTIONS_BYTES, renderInstructions } from '../../configuration/render-instructions.ts';
import { isReasoningEffort, parseModelId, REASONING_EFFORTS } from '../../models/index.ts';
import type { SkillRef } from '../../tables.ts';
import { FILE_SEARCH } from '../../tools/file-search.ts';
import { READ_SKILL } from '../../tools/read-skill.ts';
import type { FileSearchConfig, McpConfig, MemoryConfig, SkillsConfig, UiConfig } from '../../tools/tool.ts';
import { offerUi } from '../../tools/ui-tools.ts';
import type { SmithForTurn } from '../store/load-smith-turn.ts';
import type { TurnConfig, TurnSettings } from '../turn.ts';

/**
 * `stateless`: neither the smith's memory nor its stores; the answer rests on the request alone. `withoutMemory`: only the former. `skills`: those that the
 * configuration names, looked up. Throws
 * `agent_unpublished`, `invalid_variables`, `invalid_request`, `invalid_tool_choice`, `invalid_reasoning_effort` and
 * `unknown_provider`.
 */
export function configureTurn(
  smith: SmithForTurn,
  settings: TurnSettings,
  {
    stateless = false,
    withoutMemory = stateless,
    skills = null,
  }: { readonly stateless?: boolean; readonly withoutMemory?: boolean; readonly skills?: SkillsConfig | null },
): TurnConfig {
  if (smith.agent_id !== null && smith.agent_snapshot === null) throw new ApiError('agent_unpublished');
  const config = effectiveConfig(smith.config, smith.agent_snapshot);
  const instructions = renderForSmith(config.instructions, smith);
  const fileSearch = settings.tools.file_search ?? (stateless ? null : searchOwnStores(config.vector_store_ids));
  const ui = stateless ? undefined : uiOf(smith);
  const mcp = stateless ? undefined : mcpOf(smith);
  const servers = serversOf(settings.tools, mcp);
  checkTools(settings.tools, servers, [
    ...config.enabled_hosted_tools,
    ...(fileSearch === null ? [] : [FILE_SEARCH]),
    ...(skills === null || skills.offered.length === 0 ? [] : [READ_SKILL]),
    ...(ui?.offered ?? []).map(({ name }) => name),
    ...listNamesToChoose(settings.tools.choice, servers),
  ]);
  checkEffort(settings.answer.reasoning_effort);
  const { provider, model } = readModelId(settings.overrides.model ?? config.model);
  const memory: MemoryConfig = {
    content: smith.memory,
    auto: config.auto_memory,
    consolidate: config.memory_consolidation,
    indexed: smith.recalls || config.auto_memory,
  };
  return {
    settings,
    model: `${provider}/${model}`,
    instructions: [instructions, settings.overrides.instructions ?? ''].filter((text) => text !== '').join('\n\n'),
    hosted_tools: config.enabled_hosted_tools,
    file_search: fileSearch,
    memory: withoutMemory ? null : memory,
    ...(skills === null ? {} : { skills }),
    ...(ui === undefined ? {} : { ui }),
    ...(mcp === undefined ? {} : { mcp }),
  };
}

/** The UI resources that the smith's turns offer as tools. */
export function uiOf({ agent_id, agent_snapshot }: SmithForTurn): UiConfig | undefined {
  if (agent_id === null || agent_snapshot === null) return undefined;
  return offerUi(agent_id, agent_snapshot.ui_resources);
}

/** The MCP servers that the smith's turns call: those that it names, or every registered one. */
export function mcpOf({ config, agent_snapshot, mcp_servers: registered }: SmithForTurn): McpConfig | undefined {
  const { mcp_servers: named } = effectiveConfig(config, agent_snapshot);
  const servers = named === null ? registered : registered.filter(({ name }) => named.includes(name));
  const missing = (named ?? []).filter((name) => !registered.some((server) => server.name === name));
  return servers.length === 0 && missing.length === 0 ? undefined : { servers, missing };
}

/** Under which calls of this server's own tools ask for approvals. */
const OWN_LABEL = 'ironcraft';

/** The turn's MCP servers: the registered ones by name, those of the request by label. */
function serversOf({ mcp: brought = [] }: TurnSettings['tools'], mcp: McpConfig | undefined): readonly string[] {
  const registered = (mcp?.servers ?? []).map(({ name }) => name);
  const taken = brought.find(({ label }) => label === OWN_LABEL || registered.includes(label));
  if (taken === undefined) return [...registered, ...brought.map(({ label }) => label)];
  const whose =
    taken.label === OWN_LABEL ? 'stands for this server’s own tools' : 'is a registered server of the smith';
  throw new ApiError('invalid_request', {
    param: 'tools',
    message: `The \`server_label\` ${taken.label} ${whose}. Choose another one for the server of this request.`,
  });
}

/** Which tools servers have is looked up when the turn runs: a name that one of theirs may have can be chosen. */
function listNamesToChoose(choice: TurnSettings['tools']['choice'], servers: readonly string[]): readonly string[] {
  if (choice === 'required') return servers.map((name) => `${name}__*`);
  if (typeof choice === 'string' || 'server' in choice) return [];
  return servers.some((name) => choice.name.startsWith(`${name}__`)) ? [choice.name] : [];
}

/** The skills that the smith's turns are to have. */
export function skillsOf(smith: SmithForTurn): readonly SkillRef[] {
  return effectiveConfig(smith.config, smith.agent_snapshot).skills;
}

function renderForSmith(instructions: string, smith: SmithForTurn): string {
  const rendered = renderInstructions(instructions, smith.agent_snapshot?.variables ?? [], smith.metadata);
  if (rendered.missing.length > 0) {
    throw new ApiError('invalid_variables', {
      param: 'metadata',
      message: `Set these members of the smith's metadata first: ${rendered.missing.join(', ')}.`,
      details: { missing: rendered.missing },
    });
  }
  if (rendered.text !== undefined) return rendered.text;
  throw new ApiError('invalid_variables', {
    param: 'metadata',
    message:
      `The smith's instructions have ${rendered.bytes} bytes once their variables are filled in, and at most ` +
      `${MAX_INSTRUCTIONS_BYTES} are allowed. Shorten them, or the members of its metadata that they name.`,
    details: { bytes: rendered.bytes, limit_bytes: MAX_INSTRUCTIONS_BYTES },
  });
}

function searchOwnStores(own: readonly string[]): FileSearchConfig | null {
  if (own.length === 0) return null;
  return { vector_store_ids: own, max_num_results: null, filters: null, ranking_options: null };
}

function checkTools(
  { client, choice }: TurnSettings['tools'],
  servers: readonly string[],
  hosted: readonly string[],
): void {
  const names = [...client.map((tool) => tool.name), ...hosted];
  if (new Set(names).size < names.length) {
    throw new ApiError('invalid_request', {
      param: 'tools',
      message: 'Two tools share a name. Give each a name of its own.',
    });
  }
  if (choice === 'auto' || choice === 'none') return;
  if (typeof choice === 'object' && 'server' in choice) {
    if (servers.includes(choice.server)) return;
    const known = servers.length === 0 ? 'none' : servers.join(', ');
    throw new ApiError('invalid_tool_choice', {
      param: 'tool_choice',
      message: `\`tool_choice\` asks for the MCP server ${choice.server}, but the turn has ${known}.`,
    });
  }
  if (choice === 'required' ? names.length > 0 : names.includes(choice.name)) return;
  const wanted = choice === 'required' ? 'any tool' : `the tool ${choice.name}`;
  throw new ApiError('invalid_tool_choice', {
    param: 'tool_choice',
    message: `\`tool_choice\` asks for ${wanted}, but the turn offers ${names.length === 0 ? 'none' : names.join(', ')}.`,
  });
}

function checkEffort(effort: string | null): void {
  if (effort === null || isReasoningEffort(effort)) return;
  throw new ApiError('invalid_reasoning_effort', {
    param: 'reasoning_effort',
    message: `\`reasoning_effort\` must be one of ${REASONING_EFFORTS.join(', ')}.`,
  });
}

function readModelId(id: string): ReturnType<typeof parseModelId> {
  try {
    return parseModelId(id);
  } catch (error) {
    throw withModelParam(error);
  }
}

/** The error with `model` as its `param`: opening a model may name a member of another request. */
export function withModelParam(error: unknown): unknown {
  return error instanceof ApiError ? new ApiError(error.code, { ...error.detail, param: 'model' }) : error;
}
