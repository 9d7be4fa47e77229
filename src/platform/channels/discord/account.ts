/** An application of Discord's as a project saves it, and as it takes it down. */
import { abortAfter } from '../../../kernel/clock/timers.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { CheckedAccount } from '../accounts/checked-account.ts';
import type { OpenAccount } from '../channel.ts';
import { baseUrlOf, botTokenOf } from './access.ts';
import { createDiscordApi } from './api.ts';
import {
  type ApplicationAccess,
  checkApplication,
  clearEndpoint,
  registerCommands,
  setEndpoint,
} from './check-account.ts';
import { isPublicKey } from './public-key.ts';

const DEADLINE_MS = 60_000;

/** Throws `bad_public_key`, and what `checkApplication` throws; what it answers, once it is stored, what the others throw. */
export async function checkDiscordApplication(
  { outbound }: { readonly outbound: Pick<Outbound, 'fetch'> },
  access: ApplicationAccess,
  endpointUrl: string,
): Promise<CheckedAccount> {
  const { applicationId, publicKey, botToken, baseUrl } = access;
  if (!isPublicKey(publicKey)) throw new ApiError('bad_public_key', { param: 'public_key' });
  const api = createDiscordApi(outbound);
  const { name, botId } = await checkApplication(api, access, abortAfter(DEADLINE_MS));
  return {
    accountId: applicationId,
    settings: { name, bot_id: botId, public_key: publicKey.toLowerCase(), api_base_url: baseUrl },
    secrets: { bot_token: botToken },
    webhookKeyHash: null,
    async register() {
      const signal = abortAfter(DEADLINE_MS);
      await registerCommands(api, access, signal);
      await setEndpoint(api, access, endpointUrl, signal);
    },
  };
}

export async function disconnectDiscordApplication(
  { outbound }: { readonly outbound: Pick<Outbound, 'fetch'> },
  account: OpenAccount,
): Promise<void> {
  const access = { baseUrl: baseUrlOf(account), botToken: botTokenOf(account) };
  await clearEndpoint(createDiscordApi(outbound), access, abortAfter(DEADLINE_MS));
}
