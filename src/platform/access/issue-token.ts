/**
 * Issues tokens: the row that makes one revocable, its text and its `token.created` event, in the caller's transaction.
 * The text leaves here once and is kept nowhere.
 */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { appendEvent } from '../feed/append-event.ts';
import { executorOf } from '../store/executor-of.ts';
import { systemDb, type TenantDb, type TenantTransaction } from '../store/tenant-db.ts';
import type { Actor } from '../tables.ts';
import { ORGANIZATION_MARKER, subjectOf, TENANT_MARKER } from './caller.ts';
import type { TokenClaims, TokenSigner } from './sign-token.ts';

/** Ten years: the longest `ttl_seconds` of any token. */
export const MAX_TTL_SECONDS = 315_360_000;
export const MAX_SMITH_TTL_SECONDS = 24 * 60 * 60;
/** A smith token sits in a browser or a device: short, unless the caller asks for longer. */
export const DEFAULT_SMITH_TTL_SECONDS = 60 * 60;

export interface IssuedToken {
  readonly id: string;
  readonly token: string;
  /** `<project>`, `<project>:<smith>` or `<organization>`. */
  readonly sub: string;
  readonly scopes: readonly string[];
  readonly name: string | null;
  /** Null: the token lives until it is revoked. */
  readonly expiresAt: Date | null;
}

export interface ProjectTokenRequest {
  readonly name?: string | null | undefined;
  /** Absent or null: the token never expires. */
  readonly ttlSeconds?: number | null | undefined;
  /** Default: `tenant:*`, everything in the project. */
  readonly scopes?: readonly string[];
  readonly actor: Actor | null;
  /** The app that gets it. */
  readonly app?: { readonly clientId: string; readonly appId: string };
}

export interface SmithTokenRequest {
  readonly smithId: string;
  readonly permissions: readonly string[];
  /** Absent or null: an hour. */
  readonly ttlSeconds?: number | null | undefined;
  readonly name?: string | null | undefined;
  readonly actor: Actor | null;
  /** The OAuth client that gets it, and the one MCP deployment that takes it. */
  readonly connector?: { readonly clientId: string; readonly deploymentId: string; readonly audience: string };
}

/** A token of a connector, as it is renewed. */
export interface RenewalRequest {
  readonly id: string;
  readonly audience: string;
}

export interface OrganizationKeyRequest {
  readonly organizationId: string;
  readonly name?: string | null | undefined;
}

/** Each throws `invalid_request` for a lifetime out of range and `minting_unavailable` when no key can sign. */
export interface TokenIssuer {
  /** A token of the whole project that the transaction is scoped to. The caller has made sure that the project is live. */
  issueProjectToken(tx: TenantTransaction, request: ProjectTokenRequest): Promise<IssuedToken>;
  /** A token bound to one smith, for at most 24 hours. The caller has made sure that the smith is live. */
  issueSmithToken(tx: TenantTransaction, request: SmithTokenRequest): Promise<IssuedToken>;
  /**
   * A further text of a connector's token, for an hour from now: the row is the same, so that whoever revokes it ends them all.
   * No event. Undefined where the token was revoked.
   */
  renewSmithToken(tx: TenantTransaction, request: RenewalRequest): Promise<Omit<IssuedToken, 'name'> | undefined>;
  /** A key of the organization; it never expires. Organizations have no feed, so there is no event. */
  issueOrganizationKey(tx: Transaction, request: OrganizationKeyRequest): Promise<IssuedToken>;
}

export function createTokenIssuer({ signer, clock }: { signer: TokenSigner; clock: Clock }): TokenIssuer {
  async function issue(
    tx: Transaction,
    claims: Omit<TokenClaims, 'tokenId'>,
    insert: (id: string) => Promise<unknown>,
  ) {
    const id = mintId('tok');
    const token = await signer(tx, { ...claims, tokenId: id });
    await insert(id);
    return { id, token, sub: claims.subject, scopes: claims.scopes, expiresAt: claims.expiresAt };
  }

  return {
    async issueProjectToken(tx, { name = null, ttlSeconds, scopes = [TENANT_MARKER], actor, app }) {
      const issuedAt = clock.now();
      const expiresAt = ttlSeconds == null ? null : endLifetime(issuedAt, ttlSeconds, MAX_TTL_SECONDS);
      const holder = app === undefined ? {} : { client_id: app.clientId, app_id: app.appId };
      const claims = { kind: 'tenant', subject: tx.projectId, scopes, issuedAt, expiresAt } as const;
      const issued = await issue(executorOf(tx), claims, (id) =>
        tx
          .insertInto('tokens')
          .values({
            id,
            scope: 'admin',
            scopes: [...scopes],
            name,
            expires_at: expiresAt,
            created_at: issuedAt,
            ...holder,
          })
          .execute(),
      );
      if (app === undefined) await inheritApp(tx, issued.id, actor);
      await appendTokenCreated(tx, actor, null, { ...issued, name });
      return { ...issued, name };
    },

    async issueSmithToken(tx, { smithId, permissions, ttlSeconds, name = null, actor, connector }) {
      const issuedAt = clock.now();
      const expiresAt = endLifetime(issuedAt, ttlSeconds ?? DEFAULT_SMITH_TTL_SECONDS, MAX_SMITH_TTL_SECONDS);
      const scopes = [...new Set(permissions)];
      const claims = {
        kind: 'smith',
        subject: subjectOf(tx.projectId, smithId),
        scopes,
        issuedAt,
        expiresAt,
        ...(connector === undefined ? {} : { audience: connector.audience }),
      } as const;
      const holder =
        connector === undefined ? {} : { client_id: connector.clientId, deployment_id: connector.deploymentId };
      const row = {
        scope: 'smith',
        smith_id: smithId,
        scopes,
        name,
        expires_at: expiresAt,
        created_at: issuedAt,
      } as const;
      const issued = await issue(executorOf(tx), claims, (id) =>
        tx
          .insertInto('tokens')
          .values({ id, ...row, ...holder })
          .execute(),
      );
      await inheritApp(tx, issued.id, actor);
      await appendTokenCreated(tx, actor, smithId, { ...issued, name });
      return { ...issued, name };
    },

    async renewSmithToken(tx, { id, audience }) {
      const issuedAt = clock.now();
      const expiresAt = endLifetime(issuedAt, DEFAULT_SMITH_TTL_SECONDS, MAX_SMITH_TTL_SECONDS);
      const row = await tx
        .updateTable('tokens')
        .set({ expires_at: expiresAt })
        .where('id', '=', id)
        .where('revoked_at', 'is', null)
        .returning(['smith_id', 'scopes'])
        .executeTakeFirst();
      if (row === undefined) return undefined;
      const { smith_id, scopes } = row;
      const subject = subjectOf(tx.projectId, smith_id);
      const claims = { kind: 'smith', tokenId: id, subject, scopes, issuedAt, expiresAt, audience } as const;
      return { id, token: await signer(executorOf(tx), claims), sub: subject, scopes, expiresAt };
    },

    async issueOrganizationKey(tx, { organizationId, name = null }) {
      const issuedAt = clock.now();
      const scopes = [ORGANIZATION_MARKER];
      const claims = { kind: 'organization', subject: organizationId, scopes, issuedAt, expiresAt: null } as const;
      const issued = await issue(tx, claims, (id) =>
        systemDb(tx)
          .insertInto('organization_keys')
          .values({ organization_id: organizationId, id, name, created_at: issuedAt })
          .execute(),
      );
      return { ...issued, name };
    },
  };
}

/**
 * What an app's token mints is the app's too, and ends when the app is disconnected: the app's row is held, so that whoever
 * disconnects it meanwhile finds this token as well. Throws `unauthenticated` where that has happened.
 */
async function inheritApp(tx: TenantTransaction, id: string, actor: Actor | null): Promise<void> {
  if (actor === null || actor.token_id === '') return;
  const { rows } = await tx.raw<{ revoked_at: Date | null }>({
    text: `
      with app as (
        select a.id, a.revoked_at
        from tokens minter join oauth_apps a on a.project_id = $1 and a.id = minter.app_id
        where minter.project_id = $1 and minter.id = $3
        for share of a
      )
      update tokens t set app_id = app.id from app where t.project_id = $1 and t.id = $2 returning app.revoked_at`,
    values: [id, actor.token_id],
  });
  if (rows[0] !== undefined && rows[0].revoked_at !== null) throw new ApiError('unauthenticated');
}

function endLifetime(issuedAt: Date, ttlSeconds: number, maxSeconds: number): Date {
  if (!Number.isInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > maxSeconds) {
    throw new ApiError('invalid_request', {
      param: 'ttl_seconds',
      message:
        maxSeconds === MAX_SMITH_TTL_SECONDS
          ? `\`ttl_seconds\` of a smith token must be 1 to ${maxSeconds} (24 hours). Mint a new token when this one ends.`
          : `\`ttl_seconds\` must be 1 to ${maxSeconds}. Leave it out for a token that does not expire.`,
    });
  }
  // Whole seconds, because a JWT knows no others: the row and the `exp` claim agree.
  return new Date((Math.floor(issuedAt.getTime() / 1000) + ttlSeconds) * 1000);
}

async function appendTokenCreated(
  tx: TenantDb,
  actor: Actor | null,
  smithId: string | null,
  issued: Omit<IssuedToken, 'token'>,
): Promise<void> {
  await appendEvent(tx, {
    type: 'token.created',
    smithId,
    actor,
    data: {
      token_id: issued.id,
      scope: smithId === null ? 'admin' : 'smith',
      sub: issued.sub,
      scopes: issued.scopes,
      name: issued.name,
      expires_at: issued.expiresAt?.toISOString() ?? null,
    },
  });
}
