/** How Telegram brings messages: to a webhook, with a secret of ours in each call, where the server can be reached; else they are fetched. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Outbound, OutboundError } from '../../../kernel/outbound/outbound.ts';

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
  return { secret, hash: hashSecret(secret).toString('hex') };
}

/** In a time that tells nothing of either. */
export function isWebhookSecret(given: string | string[] | undefined, hash: string | null | undefined): boolean {
  const expected = Buffer.from(hash ?? '', 'hex');
  const found = hashSecret(typeof given === 'string' ? given : '');
  return (
    timingSafeEqual(expected.length === found.length ? expected : Buffer.alloc(found.length), found) && given !== ''
  );
}

function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
