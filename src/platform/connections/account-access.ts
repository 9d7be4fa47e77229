/** What of a user's accounts a call of an MCP server may use: implements the port of `mcp/sign-in.ts`. */
import { LRUCache } from 'lru-cache';
import type { Database, Executor } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import type { AccountAccess, AccountLink, AccountOwner, NoAccess, RefusedAccess, SignIn } from '../mcp/index.ts';
import { type TenantDb, tenantDb } from '../store/tenant-db.ts';
import { openCredential } from './credential.ts';
import { createLink, type SignInPlan } from './links.ts';
import { type PlanDependencies, planForServer } from './plan-server.ts';
import type { Challenge } from './protocol/discover-server.ts';
import type { Refresher } from './refresh.ts';
import { type FoundServer, findServerById, providerNameOf } from './servers.ts';

export interface AccessDependencies extends Omit<PlanDependencies, 'vault'> {
  readonly vault: Pick<Vault, 'open' | 'seal'>;
  readonly db: Database;
  readonly logger: Logger;
  readonly refresher: Refresher;
}

/** What a server and its issuer say is asked once in this time for links that turns give. */
const PLAN_KEPT_MS = 60_000;
const PLANS_KEPT = 1_000;

export function createAccountAccess(deps: AccessDependencies): SignIn {
  const plans = new LRUCache<string, { readonly plan: SignInPlan | null }>({ max: PLANS_KEPT, ttl: PLAN_KEPT_MS });

  async function plan(db: TenantDb, server: FoundServer, challenge?: Challenge) {
    const key = [db.projectId, server.id, server.revision].join('/');
    const kept = challenge === undefined ? plans.get(key) : undefined;
    if (kept !== undefined) return kept.plan;
    const made = await planForServer(deps, db, server, challenge);
    if (challenge === undefined) plans.set(key, { plan: made });
    return made;
  }

  async function linkFor(
    owner: AccountOwner,
    looked: NoAccess,
    refused?: RefusedAccess,
  ): Promise<AccountLink | undefined> {
    const db = tenantDb(deps.db, owner.projectId);
    const server = await findServerById(db, owner.serverId);
    if (server === undefined) throw new Error('a server that is called is not there');
    const key = providerNameOf(server.name);
    const link = {
      key,
      provider: server.auth_provider ?? key,
      hasChanged: async (executor: Executor) => {
        const found = await findUsable(tenantDb(executor, owner.projectId), owner);
        return found !== undefined && found.credential_id !== looked.credentialId;
      },
    };
    const held = refused?.isForScope === true ? await findUsable(db, owner) : undefined;
    const lacking = held?.credential_id === looked.credentialId ? held : undefined;
    try {
      const made = await plan(db, server, refused === undefined ? undefined : withScopesOf(lacking, refused));
      if (lacking !== undefined && made !== null && !asksForMore(made, lacking)) return undefined;
      const place = { smithId: owner.smithId, provider: key, serverId: server.id };
      return { ...link, url: made === null ? null : await createLink(deps, db, place, made, null) };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      deps.logger.info({ err: error, server: server.id }, 'there is no link by which an account could be connected');
      return { ...link, url: null };
    }
  }

  async function findAccess(owner: AccountOwner, refused?: RefusedAccess): Promise<AccountAccess> {
    const db = tenantDb(deps.db, owner.projectId);
    const held = await findUsable(db, owner);
    if (held === undefined) return none();
    const isRefused = refused?.credentialId === held.credential_id;
    if (isRefused && (refused?.isForScope === true || !held.may_be_renewed)) return none(held);
    if (!isRefused && !held.is_due) return open(db, held);
    if (!held.has_refresh_token) return held.is_over || isRefused ? none(held) : open(db, held);
    const failure = await deps.refresher.refresh(owner.projectId, held.id, held.credential_id, owner.signal);
    const now = await findUsable(db, owner);
    if (now === undefined) return none(held);
    const isOther = now.credential_id !== held.credential_id;
    if (isOther || !(now.is_over || isRefused)) return open(db, now);
    return { kind: 'unavailable', reason: failure?.message ?? 'it could not be refreshed' };
  }

  function none(held?: UsableRow): NoAccess {
    return { kind: 'none', credentialId: held?.credential_id };
  }

  function open(db: TenantDb, held: UsableRow): AccountAccess {
    const { access_token: token } = openCredential(deps.vault, db.projectId, held);
    if (token === undefined) throw new Error('a credential that is not due has no access token');
    return { kind: 'token', token, credentialId: held.credential_id };
  }

  return {
    findAccess,
    linkFor,
    async findAnyAccess({ projectId, serverId, signal }) {
      const smithId = await findConnectedSmith(tenantDb(deps.db, projectId), serverId);
      if (smithId === undefined) return undefined;
      const access = await findAccess({ projectId, smithId, serverId, signal });
      return access.kind === 'token' ? access.token : undefined;
    },
  };
}

/** What the account may do already stays asked for: a token is for all of it, or the next call lacks something else. */
function withScopesOf(held: UsableRow | undefined, refused: RefusedAccess): Challenge {
  if (held === undefined || refused.scope === undefined) return refused;
  return { ...refused, scope: [...new Set([...held.scopes, ...refused.scope.split(' ')])].join(' ') };
}

/** Than the account has, or its user was asked for a moment ago: nobody is sent round in circles. */
function asksForMore({ target }: SignInPlan, { scopes, scopes_just_asked: asked }: UsableRow): boolean {
  const had = new Set([...scopes, ...asked, 'offline_access']);
  return target.scopes.some((scope) => !had.has(scope));
}

interface UsableRow {
  readonly id: string;
  readonly scopes: string[];
  readonly scopes_just_asked: string[];
  readonly credential_id: string;
  readonly sealed_credential: string;
  readonly has_refresh_token: boolean;
  /** To be refreshed, if it can be. */
  readonly is_due: boolean;
  readonly is_over: boolean;
  /** It can be refreshed, and was not a moment ago. */
  readonly may_be_renewed: boolean;
}

/**
 * Connections that calls of a server may use: those to the server itself while it stands at the address at which the user
 * connected it, and those to the provider that it names, if the user was asked since it stands there. Never one of another
 * issuer than today's.
 */
const USABLE = `
  from mcp_servers m
  join connections c on c.project_id = m.project_id
    and (c.server_id = m.id and c.server_url = m.url
      or c.server_id is null and c.provider = m.auth_provider and c.granted_at >= m.address_since)
  left join oauth_providers p on p.project_id = c.project_id and p.provider = c.client_provider
  left join mcp_issuers i on i.project_id = m.project_id and i.server_id = m.id
  where m.project_id = $1 and m.id = $2 and m.auth_kind = 'oauth' and c.status = 'active'
    and case when c.client_kind = 'provider'
      then p.client_id = c.client_id and p.token_endpoint = c.token_endpoint and m.auth_provider = c.client_provider
      else c.issuer is null or i.issuer is null or i.issuer = c.issuer end`;

async function findUsable(db: TenantDb, { smithId, serverId }: AccountOwner): Promise<UsableRow | undefined> {
  const { rows } = await db.raw<UsableRow>({
    text: `
      select c.id, c.scopes, c.credential_id, c.sealed_credential, c.has_refresh_token,
        case when c.granted_at > now() - interval '10 minutes' then coalesce(c.scopes_asked, '{}') else '{}' end
          as scopes_just_asked,
        c.expires_at is not null
          and c.expires_at <= now() + least(interval '5 minutes', (c.expires_at - c.credential_at) / 2) as is_due,
        coalesce(c.expires_at <= now(), false) as is_over,
        c.has_refresh_token and c.credential_at < now() - interval '1 minute' as may_be_renewed
      ${USABLE} and c.smith_id = $3
      order by c.server_id is null limit 1`,
    values: [serverId, smithId],
  });
  return rows[0];
}

/** Who connected an account to the server last: what it lists is asked for with that. */
async function findConnectedSmith(db: TenantDb, serverId: string): Promise<string | undefined> {
  const { rows } = await db.raw<{ smith_id: string }>({
    text: `
      select c.smith_id ${USABLE} and (c.has_refresh_token or c.expires_at is null or c.expires_at > now())
      order by c.credential_at desc limit 1`,
    values: [serverId],
  });
  return rows[0]?.smith_id;
}
