/** A number of WhatsApp's as a project saves it, and as it takes it down. */
import { abortAfter } from '../../../kernel/clock/timers.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { CheckedAccount } from '../accounts/checked-account.ts';
import { settingOf } from '../accounts/open-account.ts';
import type { OpenAccount } from '../channel.ts';
import { accessOf } from './access.ts';
import { checkNumber, subscribeApp, unsubscribeApp } from './check-account.ts';
import { isBusinessInUse } from './find-accounts.ts';
import { createGraph } from './graph.ts';
import { hashVerifyToken } from './webhook.ts';

const DEADLINE_MS = 60_000;

export interface WhatsAppAccount {
  readonly accessToken: string;
  readonly phoneNumberId: string;
  readonly businessAccountId: string;
  readonly appSecret: string;
  readonly verifyToken: string | undefined;
  readonly apiUrl: string;
}

/** Throws `whatsapp_validation_failed`, `whatsapp_api_error`; what it answers, once it is stored, `whatsapp_subscribe_failed`. */
export async function checkWhatsAppNumber(
  { outbound }: { readonly outbound: Pick<Outbound, 'fetch'> },
  { accessToken, phoneNumberId, businessAccountId, appSecret, verifyToken, apiUrl }: WhatsAppAccount,
): Promise<CheckedAccount> {
  const graph = createGraph(outbound);
  const access = { baseUrl: apiUrl, accessToken, appSecret, phoneNumberId, businessAccountId };
  const number = await checkNumber(graph, access, abortAfter(DEADLINE_MS));
  return {
    accountId: phoneNumberId,
    settings: { number, business_account_id: businessAccountId, api_base_url: apiUrl },
    secrets: {
      access_token: accessToken,
      app_secret: appSecret,
      ...(verifyToken !== undefined && { verify_token: verifyToken }),
    },
    webhookKeyHash: verifyToken === undefined ? null : hashVerifyToken(verifyToken),
    register: () => subscribeApp(graph, access, abortAfter(DEADLINE_MS)),
  };
}

/** The app stays subscribed to a business account of which somebody still has a number. */
export async function disconnectWhatsAppNumber(
  { db, outbound }: { readonly db: Database; readonly outbound: Pick<Outbound, 'fetch'> },
  account: OpenAccount,
): Promise<void> {
  const businessAccountId = settingOf(account.settings, 'business_account_id');
  if (await isBusinessInUse(db, businessAccountId)) return;
  const signal = abortAfter(DEADLINE_MS);
  await unsubscribeApp(createGraph(outbound), accessOf(account), businessAccountId, signal);
}
