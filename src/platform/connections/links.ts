/**
 * Links by which a user connects an account: each works once, for ten minutes. What comes back is known by its `state`, of
 * which only a hash is stored; it begins with the project, so that the look stays inside of it.
 */
import { createHash, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { json } from '../../kernel/db/values.ts';
import { isId } from '../../kernel/ids/ids.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import type { SignInTarget } from '../tables.ts';
import { openSealed } from './credential.ts';
import { linkContext } from './secret-context.ts';

/** Minutes. */
const LINK_LIVES = 10;
/** Of one smith and provider: the oldest goes where one more is given. */
const LINKS_OPEN = 20;

/** What a link is made of. */
export interface SignInPlan {
  readonly authorizationEndpoint: string;
  readonly params: Readonly<Record<string, string>>;
  readonly scopeSeparator: string;
  readonly target: SignInTarget;
}

export interface LinkOwner {
  readonly smithId: string;
  /** As the connection will have it: a provider's name, or `mcp:<name>`. */
  readonly provider: string;
  readonly serverId: string | null;
}

export interface StoredLink {
  readonly smith_id: string;
  readonly provider: string;
  readonly server_id: string | null;
  readonly target: SignInTarget;
  readonly return_url: string | null;
  readonly created_at: Date;
  readonly verifier: string;
}

/** The link. Who opens it connects an account of theirs to the smith. */
export async function createLink(
  { vault, callbackUrl }: { readonly vault: Pick<Vault, 'seal'>; readonly callbackUrl: string },
  db: TenantDb,
  owner: LinkOwner,
  plan: SignInPlan,
  returnUrl: string | null,
): Promise<string> {
  const state = `${db.projectId}.${randomBytes(32).toString('base64url')}`;
  const verifier = randomBytes(32).toString('base64url');
  const stateHash = hashOf(state);
  await removeOldest(db, owner);
  await db
    .insertInto('connection_links')
    .values({
      state_hash: stateHash,
      smith_id: owner.smithId,
      provider: owner.provider,
      server_id: owner.serverId,
      sealed_verifier: vault.seal(verifier, linkContext(db.projectId, stateHash)),
      target: json(plan.target),
      return_url: returnUrl,
      expires_at: sql<Date>`now() + ${`${LINK_LIVES} minutes`}::interval`,
    })
    .execute();
  return addressOf(plan, { state, verifier, callbackUrl });
}

function addressOf(
  { authorizationEndpoint, params, scopeSeparator, target }: SignInPlan,
  { state, verifier, callbackUrl }: { readonly state: string; readonly verifier: string; readonly callbackUrl: string },
): string {
  const url = new URL(authorizationEndpoint);
  const own = {
    response_type: 'code',
    client_id: target.client_id,
    redirect_uri: callbackUrl,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...(target.scopes.length === 0 ? {} : { scope: target.scopes.join(scopeSeparator) }),
    ...(target.resource === undefined ? {} : { resource: target.resource }),
  };
  for (const [name, value] of Object.entries({ ...params, ...own })) url.searchParams.set(name, value);
  return url.href;
}

async function removeOldest(db: TenantDb, { smithId, provider }: LinkOwner): Promise<void> {
  await db.raw({
    text: `
      delete from connection_links where project_id = $1 and state_hash in (
        select state_hash from connection_links where project_id = $1 and smith_id = $2 and provider = $3
        order by created_at desc offset ${LINKS_OPEN - 1})`,
    values: [smithId, provider],
  });
}

/** The project that a state is of; undefined: it is none of ours. */
export function projectOfState(state: string): string | undefined {
  const [projectId, secret = ''] = state.split('.');
  return isId('proj', projectId) && /^[\w-]{43}$/.test(secret) ? projectId : undefined;
}

/** Spends the link: nobody gets it a second time. Undefined: it was never given, is spent or too old. */
export async function takeLink(
  vault: Pick<Vault, 'open'>,
  db: TenantDb,
  state: string,
): Promise<StoredLink | undefined> {
  const stateHash = hashOf(state);
  const row = await db
    .deleteFrom('connection_links')
    .where('state_hash', '=', stateHash)
    .returning(['smith_id', 'provider', 'server_id', 'sealed_verifier', 'target', 'return_url', 'created_at'])
    .returning(sql<boolean>`expires_at > now()`.as('is_live'))
    .executeTakeFirst();
  if (row === undefined || !row.is_live) return undefined;
  const { sealed_verifier, ...link } = row;
  return { ...link, verifier: openSealed(vault, sealed_verifier, linkContext(db.projectId, stateHash)) };
}

/** The states of these cannot come back any more. */
export async function removeLinks(db: TenantDb, of: { smithId: string } | { provider: string }): Promise<void> {
  const all = db.deleteFrom('connection_links');
  const those = 'smithId' in of ? all.where('smith_id', '=', of.smithId) : all.where('provider', '=', of.provider);
  await those.execute();
}

function hashOf(state: string): string {
  return createHash('sha256').update(state).digest('hex');
}
