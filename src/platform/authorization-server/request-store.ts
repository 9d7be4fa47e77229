/**
 * Requests for consent, each with the code that it comes to.
 *
 *   pending ──approve──▶ approved ──the code, once──▶ redeemed ──the code again──▶ its token is revoked
 *      │                    └──60 s──▶ (of no use)
 *      ├──deny──▶ denied
 *      └──10 min──▶ (of no use)
 *
 * Every arrow is one conditional statement, so that of two who try one succeeds. What is of no use any more is swept.
 */
import type { Executor } from '../../kernel/db/database.ts';
import { json } from '../../kernel/db/values.ts';
import type { Actor } from '../tables.ts';
import type { IdentityClaims } from './id-token.ts';

const CODE_SECONDS = 60;
const CONSENT_MINUTES = 10;

export interface NewRequest {
  readonly id: string;
  readonly client_id: string;
  readonly client_name: string;
  readonly redirect_uri: string;
  readonly scopes: readonly string[];
  readonly state: string | null;
  readonly nonce: string | null;
  readonly code_challenge: string;
  /** Null: an app waits, and its consent says which project. */
  readonly project_id: string | null;
  /** The MCP server that a connector is for; null: an app. */
  readonly deployment_id: string | null;
}

export interface AuthorizeRequest extends NewRequest {
  readonly created_at: Date;
  readonly expires_at: Date;
}

/** What a code stands for. */
export interface Redeemable extends AuthorizeRequest {
  readonly project_id: string;
  readonly smith_id: string | null;
  readonly actor: Actor;
  readonly claims: IdentityClaims | null;
}

const COLUMNS = `id, client_id, client_name, redirect_uri, scopes, state, nonce, code_challenge, project_id, deployment_id,
  created_at, expires_at`;

export async function insertRequest(db: Executor, request: NewRequest): Promise<AuthorizeRequest> {
  const { rows } = await db.query<AuthorizeRequest>({
    text: `
      insert into oauth_requests (id, client_id, client_name, redirect_uri, scopes, state, nonce, code_challenge, project_id,
        deployment_id, status, expires_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'pending', now() + interval '${CONSENT_MINUTES} minutes')
      returning ${COLUMNS}`,
    values: [
      request.id,
      request.client_id,
      request.client_name,
      request.redirect_uri,
      request.scopes,
      request.state,
      request.nonce,
      request.code_challenge,
      request.project_id,
      request.deployment_id,
    ],
  });
  return rows[0] as AuthorizeRequest;
}

/** One that still waits for its consent. */
export async function findPending(db: Executor, id: string): Promise<AuthorizeRequest | undefined> {
  const { rows } = await db.query<AuthorizeRequest>({
    text: `select ${COLUMNS} from oauth_requests where id = $1 and status = 'pending' and expires_at > now()`,
    values: [id],
  });
  return rows[0];
}

export interface Approval {
  readonly projectId: string;
  readonly smithId: string | null;
  readonly claims: IdentityClaims | null;
  readonly actor: Actor;
  readonly codeHash: string;
}

/** False where somebody else was faster, or it is too late. */
export async function approveRequest(db: Executor, id: string, approval: Approval): Promise<boolean> {
  const { rowCount } = await db.query({
    text: `
      update oauth_requests
      set status = 'approved', smith_id = $2, actor = $3, code_hash = $4, project_id = $5, claims = $6,
        code_expires_at = now() + interval '${CODE_SECONDS} seconds'
      where id = $1 and status = 'pending' and expires_at > now()`,
    values: [
      id,
      approval.smithId,
      json(approval.actor),
      approval.codeHash,
      approval.projectId,
      approval.claims === null ? null : json(approval.claims),
    ],
  });
  return rowCount === 1;
}

/** False where somebody else was faster, or it is too late. */
export async function denyRequest(db: Executor, id: string): Promise<boolean> {
  const { rowCount } = await db.query({
    text: `update oauth_requests set status = 'denied' where id = $1 and status = 'pending' and expires_at > now()`,
    values: [id],
  });
  return rowCount === 1;
}

export interface Presented {
  readonly codeHash: string;
  readonly clientId: string;
  readonly codeChallenge: string;
  /** Absent: the client sends none, as OAuth 2.1 has it. */
  readonly redirectUri: string | undefined;
}

/**
 * Spends the code: undefined where it is spent, too old, or not presented by the client that it was made for, with the
 * verifier and the redirect that go with it. `token_id` is to be written in the same transaction.
 */
export async function spendCode(db: Executor, presented: Presented): Promise<Redeemable | undefined> {
  const { rows } = await db.query<Redeemable>({
    text: `
      update oauth_requests set status = 'redeemed'
      where code_hash = $1 and client_id = $2 and code_challenge = $3 and ($4::text is null or redirect_uri = $4)
        and status = 'approved' and code_expires_at > now()
      returning ${COLUMNS}, smith_id, actor, claims`,
    values: [presented.codeHash, presented.clientId, presented.codeChallenge, presented.redirectUri],
  });
  return rows[0];
}

export async function noteToken(db: Executor, id: string, tokenId: string): Promise<void> {
  await db.query({
    text: 'update oauth_requests set token_id = $2, claims = null where id = $1',
    values: [id, tokenId],
  });
}

/** The token that the code was redeemed for, by this client. */
export async function findTokenOfCode(
  db: Executor,
  codeHash: string,
  clientId: string,
): Promise<{ readonly project_id: string; readonly token_id: string } | undefined> {
  const { rows } = await db.query<{ project_id: string; token_id: string }>({
    text: `
      select project_id, token_id from oauth_requests
      where code_hash = $1 and client_id = $2 and status = 'redeemed' and token_id is not null`,
    values: [codeHash, clientId],
  });
  return rows[0];
}
