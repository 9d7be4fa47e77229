/**
 * UI resources of the smith's version as MCP Apps (SEP-1865): each is a resource, and the tool that shows it, whose result is
 * the one that the smith's own turns have.
 */
import type { CallToolResult, ReadResourceResult, Resource, Tool } from '@modelcontextprotocol/server';
import type { SmithForTurn } from '../engine/index.ts';
import type { ForeignSchemas } from '../schemas/index.ts';
import type { UiResource } from '../tables.ts';
import { invalidArguments } from './reply-result.ts';

const MEDIA_TYPE = 'text/html;profile=mcp-app';

export interface AppDependencies {
  readonly schemas: ForeignSchemas;
  /** The document of a UI resource. Throws `storage_unavailable`; undefined where it has been removed meanwhile. */
  readonly readDocument: (projectId: string, contentHash: string) => Promise<string | undefined>;
}

export function listApps(smith: SmithForTurn): Resource[] {
  return resourcesOf(smith).map((resource) => ({
    uri: uriOf(smith, resource),
    name: resource.name,
    mimeType: MEDIA_TYPE,
    ...(resource.tool === null ? {} : { description: resource.tool.description }),
    _meta: displayOf(resource),
  }));
}

/** Undefined: there is none at the URI. */
export async function readApp(
  { readDocument }: AppDependencies,
  projectId: string,
  smith: SmithForTurn,
  uri: string,
): Promise<ReadResourceResult | undefined> {
  const resource = resourcesOf(smith).find((one) => uriOf(smith, one) === uri);
  if (resource === undefined) return undefined;
  const text = await readDocument(projectId, resource.content_hash);
  return text === undefined
    ? undefined
    : { contents: [{ uri, mimeType: MEDIA_TYPE, text, _meta: displayOf(resource) }] };
}

/** Without those that have a name of `taken`. */
export function listAppTools(smith: SmithForTurn, taken: readonly string[]): Tool[] {
  return resourcesOf(smith).flatMap((resource): Tool[] => {
    const { name, tool } = resource;
    if (tool === null || taken.includes(name)) return [];
    return [
      {
        name,
        description: tool.description,
        inputSchema: { ...tool.input_schema, type: 'object' },
        annotations: { readOnlyHint: !tool.mutating },
        _meta: { ui: { resourceUri: uriOf(smith, resource), visibility: tool.visibility } },
      },
    ];
  });
}

/** Undefined: there is no such tool. No turn begins. */
export async function showApp(
  { schemas }: AppDependencies,
  projectId: string,
  smith: SmithForTurn,
  call: { readonly name: string; readonly args: Readonly<Record<string, unknown>>; readonly signal: AbortSignal },
): Promise<CallToolResult | undefined> {
  const resource = resourcesOf(smith).find(({ name }) => name === call.name);
  if (resource?.tool == null) return undefined;
  const { input_schema: schema, instruction } = resource.tool;
  const wrong = await schemas.findAnswerProblem(projectId, schema, JSON.stringify(call.args), call.signal);
  if (wrong !== undefined) return invalidArguments(wrong.problem);
  const shown = { instruction, arguments: call.args, resource_uri: uriOf(smith, resource) };
  return {
    content: [{ type: 'text', text: instruction ?? JSON.stringify(shown) }],
    structuredContent: shown,
  };
}

function resourcesOf({ agent_snapshot }: SmithForTurn): readonly UiResource[] {
  return agent_snapshot?.ui_resources ?? [];
}

function uriOf({ agent_id }: SmithForTurn, { name }: UiResource): string {
  return `ui://${agent_id}/${name}`;
}

/** How a host is to show it. */
function displayOf({ csp, permissions, domain, prefers_border }: UiResource) {
  const ui = {
    ...(csp === null ? {} : { csp }),
    ...(permissions === null ? {} : { permissions }),
    ...(domain === null ? {} : { domain }),
    ...(prefers_border === null ? {} : { prefersBorder: prefers_border }),
  };
  return { ui };
}
