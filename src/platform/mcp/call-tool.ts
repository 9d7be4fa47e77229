/**
 * A call of a server's tool. Which server it reaches is read again from its registration: one that has changed since the
 * turn was given the tool is not called. What the server cannot have received is sent once more, and nothing else is.
 */
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { Database } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Outbound } from '../../kernel/outbound/outbound.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import { type TenantDb, tenantDb } from '../store/tenant-db.ts';
import type { JsonObject, McpToolEntry } from '../tables.ts';
import type { ToolCall, ToolOutcome } from '../tools/tool.ts';
import { type ResultFiles, readResult } from './call-result.ts';
import { connect, type Elicit, type InputRequired, type McpConnection, type McpEndpoint } from './client/connection.ts';
import { describeFailure, McpFailure } from './client/failure.ts';
import type { McpLimits } from './client/limits.ts';
import { resumeCall } from './client/resume-call.ts';
import type { SessionPool } from './client/session-pool.ts';
import type { SuspendedCall } from './client/suspended-call.ts';
import type { Discovery } from './discovery.ts';
import { openEndpoint } from './endpoint.ts';
import { answerQuestion, HeldCall, questionOf } from './questions.ts';
import { findServer, type RegisteredServer, storeCallError, storeProtocol } from './server-store.ts';
import type { AccountAccess, AccountOwner, RefusedAccess, SignIn } from './sign-in.ts';
import { findSuspendedCall, saveSuspendedCall } from './suspended-calls.ts';

export interface CallDependencies {
  readonly db: Database;
  readonly vault: Pick<Vault, 'open' | 'seal'>;
  readonly outbound: Pick<Outbound, 'fetch'>;
  readonly logger: Logger;
  readonly discovery: Discovery;
  readonly sessions: SessionPool;
  readonly held: Map<string, HeldCall<Answered>>;
  readonly signIn: SignIn;
  readonly files: ResultFiles;
  readonly limits: McpLimits;
}

type Answered = CallToolResult | InputRequired | SuspendedCall;

/** A tool as the turn has it. */
export interface CalledTool {
  readonly server: Pick<RegisteredServer, 'id' | 'name' | 'revision'>;
  readonly tool: McpToolEntry;
  /** As models see it. */
  readonly name: string;
}

/** Names the call to the server: the same at a repetition. */
const CALL_ID = 'ironcraft/call_id';

export async function callTool(deps: CallDependencies, called: CalledTool, call: ToolCall): Promise<ToolOutcome> {
  const home = tenantDb(deps.db, call.projectId);
  const server = await findServer(home, called.server.id);
  const refusal = server === undefined ? GONE : server.revision !== called.server.revision ? CHANGED : undefined;
  if (server === undefined || refusal !== undefined) return { error: refusal ?? GONE };
  const calling = { home, server, called, call };
  const isOauth = server.auth_kind === 'oauth';
  const access = isOauth ? await deps.signIn.findAccess(ownerOf(calling)) : undefined;
  if (access !== undefined && access.kind !== 'token') return tellOfAccess(deps, calling, access);
  try {
    const outcome = await answerTo(deps, calling, access);
    // It works again: its status is that of the last list.
    if (server.is_failing) deps.discovery.refreshSoon(call.projectId, server.id);
    return outcome;
  } catch (error) {
    call.signal.throwIfAborted();
    const failure = describeFailure(error);
    deps.logger.debug({ err: error, server: server.id }, 'a call of an MCP server failed');
    await storeCallError(home, server.id, failure.message);
    // What was found out about the server may be what is wrong.
    if (failure.kind === 'protocol' && server.protocol !== null) await storeProtocol(home, server.id, null);
    return { error: `The MCP server ${server.name} could not be called: ${failure.message}.` };
  }
}

const GONE = 'The MCP server of this tool has been deleted. The call was not made.';
const CHANGED =
  'The registration of the MCP server of this tool has changed since the turn began. The call was not made.';

function ownerOf({ server, call }: Pick<Calling, 'server' | 'call'>): AccountOwner {
  const { projectId, smithId, signal } = call;
  return { projectId, smithId, serverId: server.id, signal };
}

/** A call that the server refuses for its token was not made: it is made once more where there is another token. */
async function answerTo(
  deps: CallDependencies,
  calling: Omit<Calling, 'token'>,
  access: Extract<AccountAccess, { kind: 'token' }> | undefined,
): Promise<ToolOutcome> {
  try {
    return await answer(deps, { ...calling, token: access?.token });
  } catch (error) {
    const refused = access === undefined ? undefined : readRefusal(error, access.credentialId);
    if (refused === undefined) throw error;
    const next = await deps.signIn.findAccess(ownerOf(calling), refused);
    if (next.kind !== 'token') return tellOfAccess(deps, calling, next, refused);
    return answer(deps, { ...calling, token: next.token });
  }
}

function readRefusal(error: unknown, credentialId: string): RefusedAccess | undefined {
  const { kind, challenge } = describeFailure(error);
  return kind === 'auth' && challenge !== undefined ? { ...challenge, credentialId } : undefined;
}

/** Characters of them. */
const SCOPES_SHOWN = 500;

/** Of a call that was not made for want of an account. */
async function tellOfAccess(
  { signIn }: CallDependencies,
  calling: Pick<Calling, 'server' | 'call'>,
  access: Exclude<AccountAccess, { kind: 'token' }>,
  refused?: RefusedAccess,
): Promise<ToolOutcome> {
  const { name } = calling.server;
  if (access.kind === 'unavailable') {
    return { error: `The account at ${name} cannot be used just now: ${access.reason}. The call was not made.` };
  }
  const found = await signIn.linkFor(ownerOf(calling), access, refused);
  if (found === undefined) {
    const scopes = refused?.scope === undefined ? '' : ` (${refused.scope.slice(0, SCOPES_SHOWN)})`;
    return { error: `${name} refused the call: the account that is connected lacks a permission for it${scopes}.` };
  }
  const { url: authorizeUrl, ...link } = found;
  return { connection: { ...link, mcpServer: name, authorizeUrl } };
}

export interface Calling {
  readonly home: TenantDb;
  readonly server: RegisteredServer;
  readonly token: string | undefined;
  readonly called: CalledTool;
  readonly call: ToolCall;
  /** In place of what the registration says: of a server that has none. */
  readonly endpoint?: McpEndpoint;
}

/** The call's result, or its next question. Throws McpFailure, and the signal's reason. */
export async function answer(deps: CallDependencies, calling: Calling): Promise<ToolOutcome> {
  const { callId, runId, answer: answered, wasBegun } = calling.call;
  const id = `${runId}/${callId}`;
  if (answered?.state.kind === SUSPENDED || wasBegun) {
    const suspended = await findSuspendedCall(calling.home, deps.vault, calling.call);
    if (suspended !== undefined) return goOn(deps, calling, suspended);
  }
  if (answered?.state.kind === SUSPENDED)
    throw new McpFailure('time', 'its question had closed before the answer came');
  const given = answered?.state.kind === 'input_required' ? answerQuestion(answered) : undefined;
  if (given !== undefined && 'question' in given) return given;
  let held = answered?.state.kind === 'held' ? deps.held.get(id) : undefined;
  if (answered?.state.kind === 'held' && held === undefined) {
    throw new McpFailure('time', 'its question had closed before the answer came');
  }
  if (held !== undefined && answered !== undefined) held.answer(answered);
  held ??= new HeldCall(
    id,
    (elicit, signal) => send(deps, calling, { onElicit: elicit, input: given?.input, signal }),
    {
      onEnd: () => deps.held.delete(id),
    },
  );
  deps.held.set(id, held);
  const next = await held.next(calling.call.signal).catch((error: unknown) => {
    deps.held.delete(id);
    throw error;
  });
  if ('question' in next) return next;
  deps.held.delete(id);
  return readAnswer(deps, calling, next.result);
}

/** Of a question whose call no replica holds open. */
const SUSPENDED = 'suspended';

/** Posts the answer and reads the call on, or asks what nobody was asked because the server died. */
async function goOn(deps: CallDependencies, calling: Calling, suspended: SuspendedCall): Promise<ToolOutcome> {
  const { answer: answered, signal, wasBegun } = calling.call;
  const { session } = suspended;
  if (answered?.state.question !== String(session.questionId)) return askOf(suspended);
  const { action, content } = answered;
  const answer = { action, ...(content === null ? {} : { content }) };
  const endpoint = calling.endpoint ?? openEndpoint(deps.vault, calling.call.projectId, calling.server, calling.token);
  return readAnswer(deps, calling, await resumeCall(deps, endpoint, { session, answer, wasBegun, signal }));
}

async function readAnswer(deps: CallDependencies, calling: Calling, result: Answered): Promise<ToolOutcome> {
  const { projectId, smithId, runId, callId } = calling.call;
  if (isSuspended(result)) {
    const { id: serverId, revision } = calling.server;
    const key = { projectId, smithId, runId, callId, serverId, revision };
    await saveSuspendedCall(calling.home, deps.vault, key, result, calling.endpoint);
    return askOf(result);
  }
  if (isInputRequired(result)) {
    const question = questionOf(result);
    return typeof question === 'string' ? { error: question } : { question };
  }
  const keeping = { files: deps.files, owner: { projectId, smithId, runId, callId }, toolName: calling.called.name };
  return readResult(keeping, result);
}

function askOf({ asked, session }: SuspendedCall): ToolOutcome {
  return { question: { ...asked, state: { kind: SUSPENDED, question: String(session.questionId) } } };
}

function isSuspended(result: Answered): result is SuspendedCall {
  return (result as { resultType?: unknown }).resultType === 'suspended';
}

function isInputRequired(result: Answered): result is InputRequired {
  return (result as { resultType?: unknown }).resultType === 'input_required';
}

/** Once more where the server cannot have received it. */
async function send(deps: CallDependencies, calling: Calling, sending: Sending): Promise<Answered> {
  try {
    return await sendOnce(deps, calling, sending);
  } catch (error) {
    if (!(error instanceof McpFailure && error.neverReceived)) throw error;
    return sendOnce(deps, calling, sending);
  }
}

interface Sending {
  readonly onElicit: Elicit;
  /** As of McpToolCall. */
  readonly input: JsonObject | undefined;
  /** Outlasts the execution that sends it, where the call is held open. */
  readonly signal: AbortSignal;
}

async function sendOnce(
  deps: CallDependencies,
  calling: Calling,
  { onElicit, input, signal }: Sending,
): Promise<Answered> {
  const { server, called, call } = calling;
  const key = [call.projectId, call.smithId, server.id, server.revision, calling.token ?? ''].join('/');
  const connection = deps.sessions.take(key) ?? (await open(deps, calling, signal));
  try {
    const result = await connection.callTool({
      name: called.tool.name,
      args: call.args,
      inputSchema: called.tool.input_schema,
      meta: { [CALL_ID]: call.callId },
      ...(input === undefined ? {} : { input }),
      signal,
      onElicit,
    });
    deps.sessions.giveBack(key, connection);
    return result;
  } catch (error) {
    // Whatever is still under way on it ends with it, but for an answer of the server that refuses.
    if (error instanceof McpFailure && error.kind === 'refused') deps.sessions.giveBack(key, connection);
    else void connection.close();
    throw error;
  }
}

async function open(
  deps: CallDependencies,
  { home, server, token, call, endpoint: given }: Calling,
  signal: AbortSignal,
): Promise<McpConnection> {
  if (given !== undefined) return connect(deps, given, { signal });
  const { projectId } = call;
  const endpoint = openEndpoint(deps.vault, projectId, server, token);
  const onToolsChanged = () => deps.discovery.refreshSoon(projectId, server.id, { isChanged: true });
  const connection = await connect(deps, endpoint, { signal, onToolsChanged });
  if (server.protocol === null) {
    storeProtocol(home, server.id, connection.protocol).catch((error: unknown) => {
      deps.logger.warn({ err: error, server: server.id }, 'how an MCP server is spoken to was not kept');
    });
  }
  return connection;
}
