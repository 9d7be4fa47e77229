/**
 * Secrets of webhooks. The text that its owner is shown once works with two kinds of verifiers: ours, and those made like
 * Stripe's, take the whole text as the key; Standard Webhooks takes the bytes behind the prefix.
 */
import { createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';
/** Standard Webhooks asks for 24 to 64. */
const SECRET_BYTES = 32;

export function mintWebhookSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/** Where a secret lies, for the vault. `ownerId`: of the project or the workspace. */
export function webhookSecretContext(
  ownerId: string,
  webhookId: string,
  which: 'current' | 'previous' | 'earlier',
): string {
  return `webhooks/${ownerId}/${webhookId}/${which}`;
}

/**
 * The headers of one attempt, signed with every secret that is valid at that time.
 *
 * `X-IC-Signature: t=<unix seconds>,v1=<hex>[,v1=<hex>]`, each HMAC-SHA256(secret, "<t>.<body>"), and beside it the headers
 * of Standard Webhooks 1.0: `webhook-id`, `webhook-timestamp`, `webhook-signature`.
 */
export function signDelivery(
  eventId: string,
  body: string,
  secrets: readonly string[],
  at: Date,
): Readonly<Record<string, string>> {
  const seconds = Math.floor(at.getTime() / 1_000);
  const ours = secrets.map((secret) => `v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`);
  const standard = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${eventId}.${seconds}.${body}`).digest('base64')}`;
  });
  return {
    'x-ic-event-id': eventId,
    'x-ic-signature': [`t=${seconds}`, ...ours].join(','),
    'webhook-id': eventId,
    'webhook-timestamp': String(seconds),
    'webhook-signature': standard.join(' '),
  };
}
