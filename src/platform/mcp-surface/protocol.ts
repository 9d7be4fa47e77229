/**
 * The protocol's own library, with our tools behind it. It reads a message of either revision and gives the HTTP answer;
 * a server of its is made for each message, so that nothing is kept between two.
 */
import type { CallToolResult, McpHttpHandler, Server, ServerContext } from '@modelcontextprotocol/server';
import { refusalFor } from '../../kernel/http/storage-faults.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { SmithForTurn } from '../engine/index.ts';
import { type AppDependencies, listApps, listAppTools, readApp, showApp } from './apps.ts';
import { ASK_TOOL, type AskDependencies, ask } from './ask.ts';
import type { CallContext, Exchange } from './exchange.ts';
import { GET_REPLY_TOOL, getReply } from './get-reply.ts';
import { requireNamed } from './resolve-smith.ts';

type Library = typeof import('@modelcontextprotocol/server');

export interface ProtocolDependencies extends AskDependencies, AppDependencies {
  readonly logger: Logger;
}

export interface Protocol {
  /** The HTTP answer to the message, whose body the exchange has. */
  serve(request: Request, exchange: Exchange): Promise<Response>;
}

const REVISIONS = ['2026-07-28', '2025-11-25'];
const SERVER = { name: 'ironcraft', version: '1' };
const INSTRUCTIONS =
  'An agent that answers. Call ask with a message; send the thread_id of its reply to go on with that conversation. Call ' +
  'get_reply where a reply takes long or waits for a decision.';
const OWN_TOOLS = [ASK_TOOL, GET_REPLY_TOOL];
/** Nothing is asked of a client whose answer would have to be validated. */
const NO_VALIDATOR = {
  getValidator: () => {
    throw new Error('no schema is validated by the library');
  },
};

export function createProtocol(deps: ProtocolDependencies): Protocol {
  const exchanges = new WeakMap<Request, Exchange>();
  let loading: Promise<McpHttpHandler> | undefined;

  async function load(): Promise<McpHttpHandler> {
    const library = await import('@modelcontextprotocol/server');
    return library.createMcpHandler(
      ({ requestInfo, era }) => {
        const exchange = requestInfo === undefined ? undefined : exchanges.get(requestInfo);
        if (exchange === undefined) throw new Error('the request has no exchange');
        return createServer(library, deps, exchange, era === 'modern');
      },
      {
        // The kernel keeps streams alive.
        keepAliveMs: 0,
        onerror: (error) => deps.logger.debug({ err: error }, 'a message to an MCP deployment was refused'),
      },
    );
  }

  return {
    async serve(request, exchange) {
      exchanges.set(request, exchange);
      loading ??= load();
      const { fetch } = await loading;
      return fetch(request, { parsedBody: exchange.message });
    },
  };
}

function createServer(library: Library, deps: ProtocolDependencies, exchange: Exchange, isModern: boolean): Server {
  const { projectId } = exchange.deployment;
  const server = new library.Server(SERVER, {
    capabilities: { tools: {}, resources: {} },
    instructions: INSTRUCTIONS,
    supportedProtocolVersions: REVISIONS,
    jsonSchemaValidator: NO_VALIDATOR,
  });
  /** What the catalogue has a code for may be told; everything else is for the log. */
  const guard = async <T>(act: (smith: SmithForTurn) => Promise<T> | T): Promise<T> => {
    try {
      return await act(requireNamed(exchange.smith));
    } catch (error) {
      if (error instanceof library.ProtocolError) throw error;
      const { code, detail } = refusalFor(error);
      if (code === 'internal_error') deps.logger.error({ err: detail.cause }, 'a call of an MCP deployment failed');
      const message = code === 'internal_error' ? 'Something went wrong. Try again.' : (detail.message ?? code);
      throw new library.ProtocolError(library.ProtocolErrorCode.InternalError, message, { code });
    }
  };
  server.setRequestHandler('tools/list', () =>
    guard((smith) => ({
      tools: [
        ...OWN_TOOLS,
        ...listAppTools(
          smith,
          OWN_TOOLS.map(({ name }) => name),
        ),
      ],
    })),
  );
  server.setRequestHandler('tools/call', ({ params }, context) =>
    guard(async (smith) => {
      const { name, arguments: args = {} } = params;
      const call = callContextOf(context, isModern);
      const result = await callTool(deps, { ...exchange, smith }, name, args, call);
      if (result !== undefined) return result;
      const message = call.gone.aborted ? 'The client has gone.' : `There is no tool ${name.slice(0, 100)}.`;
      throw new library.ProtocolError(library.ProtocolErrorCode.InvalidParams, message);
    }),
  );
  server.setRequestHandler('resources/list', () => guard((smith) => ({ resources: listApps(smith) })));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
  server.setRequestHandler('resources/read', ({ params: { uri } }) =>
    guard(async (smith) => {
      const result = await readApp(deps, projectId, smith, uri);
      if (result === undefined) throw new library.ResourceNotFoundError(uri);
      return result;
    }),
  );
  return server;
}

/** Undefined: there is no such tool, or nobody is left to hear of it. */
function callTool(
  deps: ProtocolDependencies,
  exchange: Exchange & { readonly smith: SmithForTurn },
  name: string,
  args: Readonly<Record<string, unknown>>,
  call: CallContext,
): Promise<CallToolResult | undefined> {
  if (name === ASK_TOOL.name) return ask(deps, exchange, args, call);
  if (name === GET_REPLY_TOOL.name) return getReply(deps, exchange, args, call);
  const { deployment, smith } = exchange;
  return showApp(deps, deployment.projectId, smith, { name, args, signal: call.gone });
}

function callContextOf({ mcpReq }: ServerContext, isModern: boolean): CallContext {
  const { _meta: meta, signal: gone } = mcpReq;
  const token = meta?.progressToken;
  let progress = 0;
  const report = (message: string): void => {
    if (token === undefined) return;
    progress += 1;
    const params = { progressToken: token, progress, message };
    // Whoever has gone hears nothing.
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
  };
  return { gone, endsWithClient: isModern, report: token === undefined ? undefined : report };
}
