/** What a workspace is told of, by its list of events and by webhooks, and how a subscription selects among it. */
export const EVENT_TYPES = [
  'order.completed',
  'order.failed',
  'order.notice_required',
  'domain.registered',
  'domain.renewed',
  'domain.transferred_in',
  'domain.restored',
  'domain.traded',
  'domain.expiring',
  'domain.expired',
  'domain.suspended',
  'domain.resumed',
  'domain.deleted',
  'domain.transferred_out',
  'transfer_out.requested',
  'transfer_out.approved',
  'transfer_out.rejected',
  'transfer_out.cancelled',
  'registrant.verification_requested',
  'registrant.verified',
  'registrant.changed',
  'registrant.agent_authorized',
  'registrant.agent_withdrawn',
  'dnssec.enabled',
  'dnssec.disabled',
  'dnssec.refused',
  'wallet.credited',
  'wallet.low',
  'wallet.disputed',
  'wallet.dispute_won',
  'wallet.dispute_lost',
  'auto_top_up.switched_off',
  'auto_top_up.limit_reached',
  'webhook.created',
  'webhook.updated',
  'webhook.deleted',
  'webhook.test',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** Whether a selector means a type or a family of types (`domain` or `domain.`) that there is. */
export function isSelector(selector: string): boolean {
  const family = selector.endsWith('.') ? selector : `${selector}.`;
  return EVENT_TYPES.some((type) => type === selector || type.startsWith(family));
}
