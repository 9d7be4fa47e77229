import type { Static } from 'typebox';
import { component, nullable, oneOf, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import type { TransferOut as StoredTransfer } from '../../tables.ts';

export const TransferOutPath = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 1000, description: 'The domain, in punycode or in Unicode.' }),
});

export const TransferOut = component(
  'TransferOut',
  Type.Object({
    state: oneOf(['pending', 'approved', 'rejected', 'cancelled'], {
      description: '`approved`: the domain is with the other registrar, and leaves the portfolio.',
    }),
    requested_by: nullable(Type.String(), {
      description: 'The registry’s id of the registrar that asks; null: not told.',
    }),
    requested_at: timestamp(),
    acts_at: nullable(timestamp(), {
      description:
        'While it is pending, when the registry approves it by itself; afterwards, when it ended. Null: not told.',
    }),
    decision: nullable(oneOf(['approve', 'reject']), { description: 'What was decided here and is or was under way.' }),
    refusal: nullable(Type.String(), { description: 'The code with which the registry refused the last decision.' }),
  }),
);
export type TransferOut = Static<typeof TransferOut>;

export const DecidedTransfer = component(
  'DecidedTransfer',
  Type.Object({
    domain: Type.String({ description: 'In punycode, lower case.' }),
    status: oneOf(['Completed', 'Pending'], {
      description: '`Pending`: the registry has not answered in time, and is told again until it has.',
    }),
    transfer_out: TransferOut,
  }),
);
export type DecidedTransfer = Static<typeof DecidedTransfer>;

export function renderTransferOut(transfer: StoredTransfer): TransferOut {
  const { state, requestedBy, requestedAt, actsAt, decision, refusal } = transfer;
  return { state, requested_by: requestedBy, requested_at: requestedAt, acts_at: actsAt, decision, refusal };
}
