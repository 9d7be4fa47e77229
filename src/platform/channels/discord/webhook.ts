/** A call of Discord's, which brings what people typed to one project's application. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { parseJsonText } from '../../../kernel/http/json-body.ts';
import { settingOf } from '../accounts/open-account.ts';
import type { OpenedAccounts } from '../accounts/opened-accounts.ts';
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
  accounts: OpenedAccounts,
  projectId: string,
  { bytes, headers, now }: DiscordCall,
): Promise<OpenAccount> {
  const signature = readDiscordSignature(headers[SIGNATURE_HEADER], headers[TIMESTAMP_HEADER], now);
  const found = await accounts.find(projectId, 'discord');
  const account = found?.isLive === true ? found.account : undefined;
  const isSigned =
    account !== undefined && (await isSignedBy(settingOf(account.settings, 'public_key'), bytes, signature));
  if (!isSigned) throw new ApiError('bad_signature');
  return account;
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
