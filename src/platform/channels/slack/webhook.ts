/** A call of Slack's, which brings what people wrote to one project's app. */
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { findLiveAccount } from '../accounts/account-store.ts';
import { openAccount, settingOf } from '../accounts/open-account.ts';
import type { InboundMessage, OpenAccount } from '../channel.ts';
import { findOwnApp, openOwnApp } from './open-account.ts';
import { readSlackCall, type SlackCall } from './read-call.ts';
import { readSlackSignature, SIGNATURE_HEADER, TIMESTAMP_HEADER } from './signature.ts';

/** Slack's has a few hundred. */
const MAX_CHALLENGE_BYTES = 4_096;

export interface SignedCall {
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly now: Date;
}

/** The account whose secret has signed the call. Throws `missing_signature`, and `bad_signature` for an unknown project too. */
export async function verifySlackCall(
  { db, vault }: { readonly db: Database; readonly vault: Pick<Vault, 'open'> },
  projectId: string,
  { bytes, headers, now }: SignedCall,
): Promise<OpenAccount> {
  const isSignedWith = readSlackSignature(bytes, headers[SIGNATURE_HEADER], headers[TIMESTAMP_HEADER], now);
  const row = await findLiveAccount(tenantDb(db, projectId), 'slack');
  const account = row === undefined ? undefined : openAccount(vault, projectId, row);
  if (account === undefined || !isSignedWith(account.secrets.signing_secret ?? '')) throw new ApiError('bad_signature');
  return account;
}

/** An app of a smith's own, whose secret has signed the call. */
export interface SignedApp {
  readonly account: OpenAccount;
  readonly deploymentId: string;
  /** Whom alone it obeys; null: everybody. */
  readonly owner: string | null;
}

/** Throws `missing_signature`, and `bad_signature` for a deployment that is not there too, or has no app of its own. */
export async function verifyOwnSlackCall(
  { db, vault }: { readonly db: Database; readonly vault: Pick<Vault, 'open'> },
  projectId: string,
  deploymentId: string,
  { bytes, headers, now }: SignedCall,
): Promise<SignedApp> {
  const isSignedWith = readSlackSignature(bytes, headers[SIGNATURE_HEADER], headers[TIMESTAMP_HEADER], now);
  const app = await findOwnApp(tenantDb(db, projectId), deploymentId);
  const account = app?.is_live === true ? openOwnApp(vault, projectId, app) : undefined;
  if (app === undefined || account === undefined || !isSignedWith(account.secrets.signing_secret ?? '')) {
    throw new ApiError('bad_signature');
  }
  return { account, deploymentId, owner: app.address };
}

/**
 * What Slack wants to read when the address is entered at the app, which may be before the app's secret is known here: so it is
 * told to whoever asks, of any project. Undefined for every other call.
 */
export function readSlackChallenge({ bytes, headers }: Pick<SignedCall, 'bytes' | 'headers'>): string | undefined {
  if (bytes.length > MAX_CHALLENGE_BYTES) return undefined;
  try {
    const call = readSlackCall(bytes, contentTypeOf(headers), undefined);
    return call.kind === 'challenge' ? call.challenge : undefined;
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

/** Throws `bad_webhook`. */
export function readSignedSlackCall(
  account: OpenAccount,
  { bytes, headers }: Pick<SignedCall, 'bytes' | 'headers'>,
): SlackCall {
  return readSlackCall(bytes, contentTypeOf(headers), settingOf(account.settings, 'bot_user_id') || undefined);
}

function contentTypeOf({ 'content-type': type }: SignedCall['headers']): string {
  return typeof type === 'string' ? type : '';
}

/** Whether somebody has spoken with the bot there before. */
export async function isSlackConversation(
  db: Database,
  { projectId, accountId }: OpenAccount,
  { chat }: Pick<InboundMessage, 'chat'>,
): Promise<boolean> {
  const { rows } = await tenantDb(db, projectId).raw({
    text: 'select from channel_chats where project_id = $1 and account_id = $2 and chat = $3 limit 1',
    values: [accountId, chat],
  });
  return rows.length > 0;
}
