/** How Telegram brings messages: to a webhook, with a secret of ours in each call, where the server can be reached; else they are fetched. */
import { randomBytes } from 'node:crypto';
import { type Outbound, OutboundError } from '../../../kernel/outbound/outbound.ts';
import { hashWebhookSecret } from '../accounts/webhook-secret.ts';

export const SECRET_HEADER = 'x-telegram-bot-api-secret-token';
/** Others are not called. https://core.telegram.org/bots/api#setwebhook */
const PORTS = new Set(['', '80', '88', '443', '8443']);

/** Empty where Telegram cannot call this server: its public URL is not https, or of no public address. */
export async function webhookUrlFor(
  outbound: Pick<Outbound, 'checkUrl'>,
  publicUrl: string,
  projectId: string,
): Promise<string> {
  const url = new URL(publicUrl);
  if (url.protocol !== 'https:' || !PORTS.has(url.port)) return '';
  try {
    await outbound.checkUrl(url, { policy: 'public', httpsOnly: true });
  } catch (error) {
    if (error instanceof OutboundError) return '';
    throw error;
  }
  return `${publicUrl}/v1/telegram/webhook/${projectId}`;
}

export function mintWebhookSecret(): { readonly secret: string; readonly hash: string } {
  const secret = randomBytes(32).toString('base64url');
  return { secret, hash: hashWebhookSecret(secret) };
}
