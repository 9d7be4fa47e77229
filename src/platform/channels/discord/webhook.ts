/** A call of Discord's, which brings what people typed to one project's application. */
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { parseJsonText } from '../../../kernel/http/json-body.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { findLiveAccount } from '../accounts/account-store.ts';
import { openAccount, settingOf } from '../accounts/open-account.ts';
import type { OpenAccount } from '../channel.ts';
import { type Interaction, readInteraction } from './read-interaction.ts';
import { isSignedBy, readDiscordSignature } from './signature.ts';

const SIGNATURE_HEADER = 'x-signature-ed25519';
const TIMESTAMP_HEADER = 'x-signature-timestamp';

interface DiscordCall {
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly now: Date;
}

/** The account whose key has signed the call. Throws `missing_signature`, and `bad_signature` for an unknown project too. */
export async function verifyDiscordCall(
  { db, vault }: { readonly db: Database; readonly vault: Pick<Vault, 'open'> },
  projectId: string,
  { bytes, headers, now }: DiscordCall,
): Promise<OpenAccount> {
  const signature = readDiscordSignature(headers[SIGNATURE_HEADER], headers[TIMESTAMP_HEADER], now);
  const row = await findLiveAccount(tenantDb(db, projectId), 'discord');
  const isSigned = row !== undefined && (await isSignedBy(settingOf(row.settings, 'public_key'), bytes, signature));
  if (!isSigned) throw new ApiError('bad_signature');
  return openAccount(vault, projectId, row);
}

/** Throws `bad_webhook` for what is no JSON. */
export function readDiscordCall({ accountId }: OpenAccount, bytes: Buffer): Interaction {
  return readInteraction(parseBody(bytes), accountId);
}

function parseBody(bytes: Buffer): unknown {
  try {
    return parseJsonText(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new ApiError('bad_webhook', { message: 'The call is signed, and its body is no JSON.', cause: error });
  }
}
