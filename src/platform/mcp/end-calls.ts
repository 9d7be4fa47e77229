/**
 * Ends the sessions of calls that nobody waits for any more: their runs were cancelled or ended otherwise while a person was
 * asked, or have the result. Done by whichever replica looks first; a server is told once more where that one dies meanwhile.
 */
import { abortAfter } from '../../kernel/clock/timers.ts';
import { createPeriodicWorker, type PeriodicWorker, SPARE_LOOK_MS } from '../../kernel/periodic/periodic-worker.ts';
import { type TenantDb, tenantDb } from '../store/tenant-db.ts';
import type { CallDependencies } from './call-tool.ts';
import type { McpEndpoint } from './client/connection.ts';
import { endSession } from './client/resume-call.ts';
import { openEndpoint } from './endpoint.ts';
import { findServer } from './server-store.ts';
import { claimEndedCalls, type EndedCall, openSuspendedCall, removeSuspendedCall } from './suspended-calls.ts';

const LOOK_MS = 2_000;
/** Claimed and ended together. */
const AT_ONCE = 16;
/** An account may have to be refreshed first. */
const FIND_MS = 10_000;

export function createCallEnder(deps: CallDependencies): PeriodicWorker {
  return createPeriodicWorker({
    name: 'end suspended calls',
    intervalMs: LOOK_MS,
    store: deps.db,
    quietMs: SPARE_LOOK_MS,
    logger: deps.logger,
    async pass(signal) {
      for (let claimed = AT_ONCE; claimed === AT_ONCE && !signal.aborted; ) {
        const ended = await claimEndedCalls(deps.db, AT_ONCE);
        await Promise.all(ended.map((call) => endCall(deps, call)));
        claimed = ended.length;
      }
    },
  });
}

/** A server that cannot be told is not told again: it closes sessions by itself. */
async function endCall(deps: CallDependencies, ended: EndedCall): Promise<void> {
  const { project_id: projectId, run_id: runId, call_id: callId } = ended;
  const home = tenantDb(deps.db, projectId);
  const key = { projectId, runId, callId };
  try {
    const { session, endpoint: unregistered } = openSuspendedCall(deps.vault, key, ended.sealed_session);
    const endpoint =
      unregistered === undefined ? await findEndpoint(deps, home, ended) : { ...unregistered, protocol: null };
    if (endpoint !== undefined) await endSession(deps, endpoint, session, { cancels: !ended.has_result });
  } catch (error) {
    deps.logger.debug(
      { err: error, server: ended.server_id, runId },
      'an MCP server was not told of the end of a call',
    );
  }
  await removeSuspendedCall(home, key);
}

/** Undefined: registered anew, it may be somebody else's. */
async function findEndpoint(
  deps: CallDependencies,
  home: TenantDb,
  ended: EndedCall,
): Promise<McpEndpoint | undefined> {
  const { project_id: projectId, smith_id: smithId, server_id: serverId, revision } = ended;
  const server = await findServer(home, serverId);
  if (server?.revision !== revision) return undefined;
  const owner = { projectId, smithId, serverId, signal: abortAfter(FIND_MS) };
  const access = server.auth_kind === 'oauth' ? await deps.signIn.findAccess(owner) : undefined;
  return openEndpoint(deps.vault, projectId, server, access?.kind === 'token' ? access.token : undefined);
}
