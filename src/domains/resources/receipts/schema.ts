import type { Static } from 'typebox';
import { component, nullable, oneOf, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { nextAfter } from '../../list-page.ts';

export const ReceiptPath = Type.Object({ receipt_id: Type.String({ minLength: 1, maxLength: 100 }) });
export type ReceiptPath = Static<typeof ReceiptPath>;

export const Receipt = component(
  'Receipt',
  Type.Object({
    id: Type.String(),
    number: Type.String({ description: 'Without gaps in a year.', example: '2027-000001' }),
    payment_id: Type.String(),
    description: Type.String(),
    refunds_number: nullable(Type.String(), { description: 'Of a refund: the receipt of what was paid.' }),
    total_cents: Type.Integer({ description: 'Net and VAT together; negative for a refund.' }),
    net_cents: Type.Integer(),
    vat_cents: Type.Integer(),
    vat_percent: Type.Number(),
    currency: oneOf(['EUR']),
    issued_at: timestamp(),
  }),
);
export type Receipt = Static<typeof Receipt>;

export const ReceiptList = Type.Object({ receipts: Type.Array(Receipt), next_after: nextAfter });
export type ReceiptList = Static<typeof ReceiptList>;
