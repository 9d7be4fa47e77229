/**
 * A call of Meta's, which brings what was written to any number of this server. Each account is asked whether its own app's
 * secret signed the call: what a project signs speaks to its own numbers alone, whatever numbers it names.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { parseJsonText } from '../../../kernel/http/json-body.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { openAccount } from '../accounts/open-account.ts';
import type { OpenAccount } from '../channel.ts';
import { findAccountsOfNumbers, isVerifyToken } from './find-accounts.ts';
import { findNumberIds, type NumberNews, readWebhook } from './read-webhook.ts';
import { readSignature } from './signature.ts';

export interface WhatsAppCallDependencies {
  readonly db: Database;
  readonly vault: Pick<Vault, 'open'>;
}

/** The accounts that the call may speak to; at least one. Throws `missing_signature` and `bad_signature`. */
export async function verifyWhatsAppCall(
  { db, vault }: WhatsAppCallDependencies,
  bytes: Buffer,
  header: string | string[] | undefined,
): Promise<readonly OpenAccount[]> {
  const isSignedWith = readSignature(bytes, header);
  const rows = await findAccountsOfNumbers(db, findNumberIds(bytes));
  // As long as for a number that is known.
  if (rows.length === 0) isSignedWith(randomBytes(16).toString('hex'));
  const accounts = rows
    .map((row) => openAccount(vault, row.project_id, row))
    .filter(({ secrets }) => isSignedWith(secrets.app_secret ?? ''));
  if (accounts.length === 0) throw new ApiError('bad_signature');
  return accounts;
}

/** What the call says of each account. Throws `bad_webhook` for what is no JSON. */
export function readWhatsAppCall(
  accounts: readonly OpenAccount[],
  bytes: Buffer,
): readonly (NumberNews & { readonly account: OpenAccount })[] {
  const news = readWebhook(parseBody(bytes), new Set(accounts.map(({ accountId }) => accountId)));
  return accounts.flatMap((account) => {
    const own = news.get(account.accountId);
    return own === undefined ? [] : [{ ...own, account }];
  });
}

/** Whether somebody has told Meta this token, and us. */
export async function knowsVerifyToken(db: Database, token: string): Promise<boolean> {
  return token !== '' && (await isVerifyToken(db, hashVerifyToken(token)));
}

export function hashVerifyToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

function parseBody(bytes: Buffer): unknown {
  try {
    return parseJsonText(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new ApiError('bad_webhook', { message: 'The call is signed, and its body is no JSON.', cause: error });
  }
}
