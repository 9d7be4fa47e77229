/** What a server lists, as it is kept: what is no tool, or may not be offered, is said so. */
import { hash } from 'node:crypto';
import type { Tool } from '@modelcontextprotocol/client';
import type { ForeignSchemas } from '../schemas/index.ts';
import type { JsonObject, McpToolEntry, McpToolHints } from '../tables.ts';
import { McpFailure } from './client/failure.ts';
import { MAX_LIST_BYTES, type McpLimits } from './client/limits.ts';

/** A list as it is kept. */
export interface ToolList {
  readonly tools: McpToolEntry[];
  /** Of the whole list, hexadecimal. */
  readonly hash: string;
}

const MAX_NAME_CHARS = 256;
const MAX_DESCRIPTION_CHARS = 16_384;
const SCHEMAS_AT_ONCE = 4;

/**
 * Checks the schemas of a list, each within the limits of foreign schemas. Throws McpFailure for a list that is too large,
 * `service_overloaded` where no schema can be checked.
 */
export async function readToolList(
  schemas: Pick<ForeignSchemas, 'findProblem'>,
  projectId: string,
  listed: readonly Tool[],
  limits: Pick<McpLimits, 'tools'>,
): Promise<ToolList> {
  if (listed.length > limits.tools)
    throw new McpFailure('protocol', `the server lists more than ${limits.tools} tools`);
  const named = new Map<string, Tool>();
  // Of two tools of one name only the first could be called.
  for (const tool of listed) if (!named.has(tool.name)) named.set(tool.name, tool);
  const tools: McpToolEntry[] = [];
  const all = [...named.values()];
  for (let first = 0; first < all.length; first += SCHEMAS_AT_ONCE) {
    const some = all.slice(first, first + SCHEMAS_AT_ONCE);
    tools.push(...(await Promise.all(some.map((tool) => readTool(schemas, projectId, tool)))));
  }
  const text = JSON.stringify(tools);
  if (Buffer.byteLength(text) > MAX_LIST_BYTES) {
    throw new McpFailure('protocol', `the tools take more than ${MAX_LIST_BYTES} bytes together`);
  }
  return { tools, hash: hash('sha256', text) };
}

async function readTool(
  schemas: Pick<ForeignSchemas, 'findProblem'>,
  projectId: string,
  tool: Tool,
): Promise<McpToolEntry> {
  const withheld = findReason(tool) ?? (await findSchemaProblem(schemas, projectId, tool.inputSchema as JsonObject));
  const entry = {
    name: tool.name.slice(0, MAX_NAME_CHARS),
    description:
      tool.description === undefined ? null : tool.description.slice(0, MAX_DESCRIPTION_CHARS).toWellFormed(),
    // One that cannot be used is not kept either: it may be what is too large.
    input_schema: withheld === undefined ? (tool.inputSchema as JsonObject) : { type: 'object' },
    hints: readHints(tool.annotations),
    ...(withheld === undefined ? {} : { withheld }),
  };
  return { ...entry, hash: hash('sha256', JSON.stringify(tool)) };
}

/** Why models are not offered it, but for its schema. */
function findReason(tool: Tool): string | undefined {
  if (tool.name === '' || tool.name.length > MAX_NAME_CHARS)
    return `its name has more than ${MAX_NAME_CHARS} characters`;
  if (tool.execution?.taskSupport === 'required') return 'it can be called only as a task';
  const { ui } = (tool._meta ?? {}) as { ui?: { visibility?: unknown } };
  if (Array.isArray(ui?.visibility) && !ui.visibility.includes('model')) return 'it is for the server’s own pages';
  return undefined;
}

async function findSchemaProblem(
  schemas: Pick<ForeignSchemas, 'findProblem'>,
  projectId: string,
  schema: JsonObject,
): Promise<string | undefined> {
  const problem = await schemas.findProblem(projectId, schema);
  return problem === undefined ? undefined : `its input schema cannot be used: a schema ${problem.problem}`;
}

function readHints(annotations: Tool['annotations']): McpToolHints {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations ?? {};
  return {
    ...(readOnlyHint === undefined ? {} : { readOnly: readOnlyHint }),
    ...(destructiveHint === undefined ? {} : { destructive: destructiveHint }),
    ...(idempotentHint === undefined ? {} : { idempotent: idempotentHint }),
    ...(openWorldHint === undefined ? {} : { openWorld: openWorldHint }),
  };
}
