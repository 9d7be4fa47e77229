import { noticePathOf, type OrderRow } from '../../orders/index.ts';
import { toEuros } from '../../prices/money.ts';
import type { Order } from './schema.ts';

const STATUS = {
  paying: 'Paying',
  held: 'Pending',
  submitted: 'Pending',
  pending: 'Pending',
  completed: 'Completed',
  failed: 'Failed',
} as const;

export function renderOrder(row: OrderRow): Order {
  const accepted = row.claims_acceptance;
  return {
    id: row.id,
    kind: row.kind,
    origin: row.origin,
    domain: row.name,
    duration: row.years,
    price: toEuros(row.amount_cents),
    currency: 'EUR',
    paid_with: row.pays_with,
    status: row.notice_until === null ? STATUS[row.state] : 'NoticeRequired',
    failure: row.state === 'failed' ? { error: row.error_code ?? 'internal', message: row.error_message ?? '' } : null,
    ...(row.holder && { holder: { name: row.holder.name, organization: row.holder.organization ?? null } }),
    ...(row.application_id !== null && { application_id: row.application_id }),
    ...(row.launch_phase && {
      application: {
        ...row.launch_phase,
        price: toEuros(row.application_cents),
        refunded_when_lost: row.application_refunded,
        taken_at: row.application_taken_at?.toISOString() ?? null,
      },
    }),
    ...(accepted && {
      claims_notice: {
        id: accepted.noticeId,
        accepted_at: accepted.acceptedAt,
        recorded_at: accepted.recordedAt,
        token_id: accepted.tokenId,
      },
    }),
    ...(row.notice_until && {
      notice_required: { notice: noticePathOf(row), until: row.notice_until.toISOString() },
    }),
    created_at: row.created_at.toISOString(),
    ended_at: row.ended_at?.toISOString() ?? null,
  };
}
