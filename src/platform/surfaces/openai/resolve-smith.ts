/** Which smith a request of an OpenAI-compatible surface is for. */
import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { EarlyRequest } from '../../../kernel/http/operation.ts';
import { isId } from '../../../kernel/ids/ids.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import { requireSmith } from '../../access/gate.ts';
import { mayRefer } from '../../access/references.ts';
import { loadSmithForTurn, type SmithForTurn } from '../../engine/index.ts';
import { agentNotFound, MAX_EXTERNAL_ID_LENGTH, provisionSmith } from '../../smiths/index.ts';
import { TenantDatabase, type TenantDb, type TenantTransaction } from '../../store/tenant-db.ts';

export interface SmithQuestion {
  readonly caller: ProjectCaller;
  readonly headers: IncomingHttpHeaders;
  /** The request's `user`. */
  readonly user: string | null | undefined;
  /** What `readSmithAhead` has begun to read. */
  readonly ahead?: Promise<SmithForTurn | undefined> | undefined;
}

/** The database, or the transaction in which a smith that is provisioned is to be made. */
export type SmithStore = TenantDatabase | TenantTransaction;

export interface ResolvedSmith {
  readonly id: string;
  /** As a turn starts with it, where it was read to be found: `createTurn` then does not read it again. */
  readonly loaded?: SmithForTurn;
}

/** The smith that the token is, or a header names. Undefined: the request's `user` has to be looked up. */
export function readSmithAhead({
  caller,
  headers,
  db,
}: EarlyRequest<ProjectCaller, TenantDatabase>): Promise<SmithForTurn | undefined> | undefined {
  const id = caller.kind === 'smith' ? caller.smithId : headerOf(headers, 'ic-smith-id');
  return id !== undefined && isId('smt', id) ? loadSmithForTurn(db, id) : undefined;
}

/**
 * The smith of a turn. A smith token is the smith, and its `user` is a mere note. Otherwise `IC-Smith-Id` names the smith, or
 * `user` and `IC-Agent-Id` together, which make it when there is none, or `user` alone. Throws `smith_mismatch`,
 * `smith_required`, `user_required`, `smith_unresolved`, `not_found` (the agent) and `agent_unpublished`.
 */
export async function resolveSmithForTurn(
  db: SmithStore,
  { caller, headers, user, ahead }: SmithQuestion,
): Promise<ResolvedSmith> {
  const named = headerOf(headers, 'ic-smith-id');
  if (caller.kind === 'smith') {
    if (named !== undefined) requireSmith(caller, named);
    const loaded = await ahead;
    return { id: caller.smithId, ...(loaded !== undefined && { loaded }) };
  }
  if (named !== undefined) {
    const loaded = await (ahead ?? loadSmithForTurn(db, named));
    if (loaded === undefined) throw new ApiError('smith_unresolved', { param: 'IC-Smith-Id' });
    return { id: named, loaded };
  }
  const externalId = user ?? '';
  const agentId = headerOf(headers, 'ic-agent-id');
  if (externalId === '') {
    throw agentId === undefined
      ? new ApiError('smith_required', { param: 'user' })
      : new ApiError('user_required', { param: 'user' });
  }
  if (agentId === undefined) return { id: await findByUser(db, externalId) };
  if (!mayRefer(caller, 'agent')) throw new ApiError('not_found', { ...agentNotFound().detail, param: 'IC-Agent-Id' });
  const [known] = await selectByExternalId(db, externalId).where('agent_id', '=', agentId).execute();
  return { id: known?.id ?? (await provision(db, caller, externalId, agentId)) };
}

/** As `resolveSmithForTurn`, for those who need the id alone. */
export async function resolveSmith(db: SmithStore, question: SmithQuestion): Promise<string> {
  return (await resolveSmithForTurn(db, question)).id;
}

async function findByUser(db: TenantDb, externalId: string): Promise<string> {
  const [found, another] = await selectByExternalId(db, externalId).limit(2).execute();
  if (found === undefined) throw new ApiError('smith_unresolved', { param: 'user' });
  if (another === undefined) return found.id;
  throw new ApiError('smith_unresolved', {
    param: 'user',
    message: '`user` has a smith on several agents. Say which with `IC-Agent-Id` or `IC-Smith-Id`.',
  });
}

function selectByExternalId(db: TenantDb, externalId: string) {
  return db.selectFrom('smiths').select('id').where('external_id', '=', externalId).where('archived_at', 'is', null);
}

async function provision(db: SmithStore, caller: ProjectCaller, externalId: string, agentId: string): Promise<string> {
  if (externalId.length > MAX_EXTERNAL_ID_LENGTH) {
    throw new ApiError('invalid_request', {
      param: 'user',
      message: `\`user\` becomes the external id of a smith, which has at most ${MAX_EXTERNAL_ID_LENGTH} characters.`,
    });
  }
  try {
    const make = (tx: TenantTransaction) => provisionSmith(tx, caller, { external_id: externalId, agent_id: agentId });
    return (await (db instanceof TenantDatabase ? db.transaction(make) : make(db))).smith.id;
  } catch (error) {
    // What is wrong with the agent came in a header here.
    const aboutAgent = error instanceof ApiError && error.detail.param === 'agent_id';
    throw aboutAgent ? new ApiError(error.code, { ...error.detail, param: 'IC-Agent-Id' }) : error;
  }
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  const text = Array.isArray(value) ? value[0] : value;
  return text === undefined || text === '' ? undefined : text;
}
