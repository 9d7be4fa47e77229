/** The tool `ask`: a message begins a turn of the smith, whose reply is awaited. */
import { createHash } from 'node:crypto';
import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import { ApiError } from '../../kernel/http/errors.ts';
import { isId } from '../../kernel/ids/ids.ts';
import { actorOf, type ProjectCaller } from '../access/caller.ts';
import { cancelTurn, type Engine, MAX_THREAD_ID_CHARS, type SmithForTurn, type TurnRequest } from '../engine/index.ts';
import { type TenantDb, tenantDb } from '../store/tenant-db.ts';
import {
  type BegunSegment,
  claimKey,
  findBegun,
  startTurn,
  type TurnLine,
  UNCHANGED_SETTINGS,
} from '../surfaces/index.ts';
import { awaitReply } from './await-reply.ts';
import type { CallContext, Exchange } from './exchange.ts';
import { invalidArguments, REPLY_SCHEMA, refusalResult } from './reply-result.ts';

export const CHANNEL = 'mcp';
const MAX_MESSAGE_CHARS = 100_000;

export const ASK_TOOL: Tool = {
  name: 'ask',
  title: 'Ask the agent',
  description:
    'Sends a message to the agent and gives its reply. Send the thread_id of a reply to go on with that conversation; ' +
    'without it a new one begins. A turn that takes long, or waits for somebody’s decision, is answered with its run_id: ' +
    'call get_reply with it later.',
  inputSchema: {
    type: 'object',
    properties: {
      message: { type: 'string', minLength: 1, maxLength: MAX_MESSAGE_CHARS, description: 'What to say, in Markdown.' },
      thread_id: {
        type: ['string', 'null'],
        minLength: 1,
        maxLength: MAX_THREAD_ID_CHARS,
        description: 'The conversation to go on with.',
      },
    },
    required: ['message'],
    additionalProperties: false,
  },
  outputSchema: REPLY_SCHEMA,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
};

export interface AskDependencies {
  readonly engine: Engine;
  readonly line: TurnLine;
  readonly replyWaitMs: number;
  readonly findConversation: FindConversation;
}

/** Undefined for one that is not there, not the smith's, or that the caller may not refer to. */
export type FindConversation = (
  db: TenantDb,
  caller: ProjectCaller,
  conversationId: string,
  smithId: string,
) => Promise<object | undefined>;

interface Asked {
  readonly message: string;
  readonly threadId: string | undefined;
}

/** Undefined: the client has gone. Whatever keeps a turn from beginning is told as a result that is an error. */
export async function ask(
  deps: AskDependencies,
  exchange: Exchange & { readonly smith: SmithForTurn },
  args: Readonly<Record<string, unknown>>,
  call: CallContext,
): Promise<CallToolResult | undefined> {
  const asked = readArguments(args);
  if (typeof asked === 'string') return invalidArguments(asked);
  const { engine, replyWaitMs } = deps;
  let begun: BegunSegment;
  try {
    begun = await begin(deps, exchange, asked, call);
  } catch (error) {
    if (error instanceof ApiError) return refusalResult(error, asked.threadId);
    throw error;
  }
  const reply = await awaitReply(engine, begun.segment, call, { waitMs: replyWaitMs });
  if (reply === undefined && call.endsWithClient) {
    const { id: runId, project_id: projectId, smith_id: smithId } = begun.segment.run;
    await cancelTurn(engine, { projectId, smithId, runId });
  }
  return reply;
}

async function begin(
  { engine, line, findConversation }: AskDependencies,
  exchange: Exchange & { readonly smith: SmithForTurn },
  { message, threadId }: Asked,
  { gone, endsWithClient, report }: CallContext,
): Promise<BegunSegment> {
  const { deployment, caller, smith } = exchange;
  const place = { projectId: deployment.projectId, smithId: smith.id };
  const requestKey = requestKeyOf(exchange, exchange.message.id);
  // A thread that is a conversation's takes what getting the conversation takes.
  if (isId('cnv', threadId)) {
    const home = tenantDb(engine.db, place.projectId);
    const conversation = await findConversation(home, caller, threadId, smith.id);
    if (conversation === undefined) throw new ApiError('conversation_not_found', { param: 'thread_id' });
  }
  // A request that is sent again has the same id and says the same.
  const claim =
    requestKey === undefined
      ? undefined
      : claimKey(`deployments.mcp ${deployment.id}`, digest([requestKey, smith.id, message, threadId ?? null]), null);
  const before = await findBegun(engine.db, place.projectId, claim);
  if (before !== undefined) return before;
  const request: TurnRequest = {
    ...place,
    ...(threadId === undefined ? {} : { threadId }),
    input: [{ role: 'user', content: message }],
    settings: UNCHANGED_SETTINGS,
    channel: CHANNEL,
    metadata: { deployment_id: deployment.id, ...(requestKey === undefined ? {} : { mcp_request: requestKey }) },
    actor: actorOf(caller),
    reader: caller,
    idempotency: claim,
    buffered: report === undefined,
  };
  // As it was read a moment ago; whoever has waited in line reads it again.
  let known: SmithForTurn | undefined = smith;
  const start = () => {
    const started = startTurn(engine, { ...request, smith: known });
    known = undefined;
    return started;
  };
  return line.startInLine(place, start, endsWithClient ? gone : new AbortController().signal);
}

/** The runs that a request of the session has begun. Ends it, where one is under way. */
export async function cancelRequest(engine: Engine, exchange: Exchange, requestId: unknown): Promise<void> {
  const { deployment, smith } = exchange;
  const requestKey = requestKeyOf(exchange, requestId);
  if (requestKey === undefined || smith === undefined) return;
  const place = { projectId: deployment.projectId, smithId: smith.id };
  const { rows } = await tenantDb(engine.db, place.projectId).raw<{ id: string }>({
    text: `
      select id from runs
      where project_id = $1 and smith_id = $2 and status = 'in_progress'
        and channel = '${CHANNEL}' and metadata ->> 'mcp_request' = $3`,
    values: [place.smithId, requestKey],
  });
  for (const { id: runId } of rows) await cancelTurn(engine, { ...place, runId });
}

/** Ids of requests are unique in their session; without one they say nothing. */
function requestKeyOf({ sessionKey }: Exchange, id: unknown): string | undefined {
  return sessionKey === undefined ? undefined : digest([sessionKey, id ?? null]);
}

function digest(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}

/** The problem, in words, where they are no arguments of the tool. */
function readArguments({
  message,
  thread_id: threadId,
  ...unknown
}: Readonly<Record<string, unknown>>): Asked | string {
  const [other] = Object.keys(unknown);
  if (other !== undefined)
    return `ask takes no ${other.slice(0, 100)}. Send message, and thread_id to go on with a conversation.`;
  if (typeof message !== 'string' || message === '') return 'Send message: a text that is not empty.';
  if (message.length > MAX_MESSAGE_CHARS) return `message has more than ${MAX_MESSAGE_CHARS} characters. Send less.`;
  if (threadId === undefined || threadId === null) return { message, threadId: undefined };
  if (typeof threadId === 'string' && threadId !== '' && threadId.length <= MAX_THREAD_ID_CHARS)
    return { message, threadId };
  return `thread_id is a text of 1 to ${MAX_THREAD_ID_CHARS} characters. Leave it out to begin a conversation.`;
}
