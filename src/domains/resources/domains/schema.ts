import type { Static } from 'typebox';
import { DEFAULT_PAGE_SIZE } from '../../../kernel/http/paging.ts';
import { closedObject, component, nullable, oneOf, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { HOLD_REASONS } from '../../holds/index.ts';
import { Renewal } from '../../renewals/index.ts';
import { acceptedClaimsNotice } from '../claims-notices/index.ts';
import { TransferOut } from '../transfers-out/index.ts';

export const DomainPath = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 1000, description: 'The domain, in punycode or in Unicode.' }),
});

const MAX_PAGE_SIZE = 1_000;

export const DomainPage = Type.Object({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PAGE_SIZE,
      default: DEFAULT_PAGE_SIZE * 5,
      description: 'How many to return.',
    }),
  ),
  after: Type.Optional(
    Type.String({ maxLength: 253, description: 'The previous page’s `next_after`: names behind this one.' }),
  ),
});

const STATUSES = `As the registry reported it last:
- \`Pending\`: it has taken the registration or the transfer, and does not report the domain yet.
- \`Active\`
- \`PendingTransfer\`: another registrar has asked for it.
- \`TransferredAway\`: it is with another registrar, and leaves the portfolio.
- \`Expired\`: its term is over and it can still be renewed.
- \`Redemption\`: it was deleted, and only a restoration brings it back.
- \`PendingDelete\`: it is about to be free for anyone.`;

const domainStatuses = [
  'Pending',
  'Active',
  'PendingTransfer',
  'TransferredAway',
  'Expired',
  'Redemption',
  'PendingDelete',
] as const;

const entry = {
  domain: Type.String({ description: 'In punycode, lower case.' }),
  status: oneOf(domainStatuses, { description: STATUSES }),
  expires_at: nullable(timestamp()),
  auto_renew: Type.Boolean(),
  dnssec: Type.Boolean({ description: 'Whether the registry has a DS record of it.' }),
  nameservers: Type.Array(Type.String()),
  hosted: Type.Boolean({
    description: 'Whether its nameservers are the service’s own, so that its zone is kept here.',
  }),
  registrar_lock: Type.Boolean(),
  transfer_locked_until: nullable(timestamp(), {
    description: 'Until when `registrar_lock` stays, after a change of the registrant; null: it does not have to.',
  }),
  whois_privacy: Type.Boolean(),
  release_at: nullable(timestamp(), { description: 'When it is left to expire, after DELETE scheduled its release.' }),
  suspended_for: Type.Array(oneOf(HOLD_REASONS), {
    description: `Why it is out of the DNS, or about to be; empty: it is not.
- \`unpaid\`: nobody has paid for its present term: POST /domains/{name}/renew.
- \`unverified_registrant\`: the registrant’s e-mail address was not confirmed in time, see GET /registrant.`,
  }),
  transfer_out: nullable(TransferOut, {
    description: 'The present or last transfer that another registrar has asked for; null: none has.',
  }),
  addedVia: oneOf(['registration', 'transfer']),
  syncedAt: nullable(timestamp(), { description: 'When the registry reported all of this; null while it has not.' }),
};

export const DomainEntry = component('DomainEntry', Type.Object(entry));
export type DomainEntry = Static<typeof DomainEntry>;

export const DomainList = Type.Object({
  domains: Type.Array(DomainEntry),
  next_after: nullable(Type.String(), { description: 'Pass it back as `after`; null on the last page.' }),
});
export type DomainList = Static<typeof DomainList>;

const Restoration = component(
  'Restoration',
  Type.Object({
    price: Type.Number({
      description: 'What POST …/restore confirms, in EUR; while the registry does not say it, that of ordinary names.',
    }),
    currency: oneOf(['EUR']),
    duration: Type.Integer({
      description: 'Years that the registry adds, as its term is over; 0: none. The price has them.',
    }),
    until: timestamp({ description: 'About when it is too late: registries do not tell the moment.' }),
  }),
);
export type Restoration = Static<typeof Restoration>;

const holder = Type.Object({ name: Type.String(), organization: nullable(Type.String()) });

const Trade = component(
  'Trade',
  Type.Object({
    price: Type.Number({ description: 'What POST …/trade confirms, in EUR.' }),
    currency: oneOf(['EUR']),
    present: nullable(holder, { description: 'Who holds it at its registry; null: that is not known.' }),
    next: holder,
    order_id: nullable(Type.String(), { description: 'Of the trade that is under way; null: none is.' }),
  }),
);
export type Trade = Static<typeof Trade>;

export const DomainDetails = component(
  'DomainDetails',
  Type.Object({
    ...entry,
    unicode: Type.String({ description: 'The domain as people read it.' }),
    registry_id: Type.String({ description: 'The registry’s id of the object (ROID).' }),
    registry_statuses: Type.Array(Type.String(), { description: 'EPP status values (RFC 5731, RFC 3915).' }),
    registered_at: nullable(timestamp(), { description: 'Null: its registry does not show it.' }),
    updated_at: nullable(timestamp()),
    ds_records: Type.Array(
      Type.Object({
        key_tag: Type.Integer(),
        algorithm: Type.Integer(),
        digest_type: Type.Integer(),
        digest: Type.String(),
      }),
    ),
    renewal: Renewal,
    restoration: nullable(Restoration, {
      description: 'What brings it back, while it is in its redemption period; null: it is not, or cannot be.',
    }),
    trade: nullable(Trade, {
      description:
        'What gives it the registrant of GET /registrant as its holder, where its registry has a command of its own for that; null: it has ' +
        'that holder, or gets it without.',
    }),
  }),
);
export type DomainDetails = Static<typeof DomainDetails>;

const duration = Type.Integer({
  minimum: 1,
  maximum: 10,
  default: 1,
  description: 'Years. GET /tlds has what each TLD sells.',
});

const payment = {
  confirm_price: Type.Union([Type.Number(), Type.String({ maxLength: 20 })], {
    description:
      'The price that you agree to, in EUR, for the whole duration: a number or a decimal string with at most two decimals. Compared exactly.',
  }),
  payment_method: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Pay as you go: a Stripe payment method. Default: the wallet.',
    }),
  ),
  shared_payment_token: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Pay as you go: a shared payment token granted to an agent.',
    }),
  ),
};

const domain = Type.String({ minLength: 1, maxLength: 1000, description: 'In punycode or in Unicode.' });

/** Those that there are have some 10,000 characters. */
const MAX_SIGNED_MARK = 131_072;

export const Registration = closedObject({
  domain,
  duration: Type.Optional(duration),
  ...payment,
  claims_notice: Type.Optional(
    acceptedClaimsNotice(
      'Beyond the contract: the notice that was accepted, where GET /check says `requires: claims_notice`. Of no meaning elsewhere.',
    ),
  ),
  signed_mark: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_SIGNED_MARK,
      description:
        'Beyond the contract: the mark that the Trademark Clearinghouse signed (RFC 7848), in base64, where GET /check says ' +
        '`requires: signed_mark`. Of no meaning elsewhere.',
    }),
  ),
  mark_code: Type.Optional(
    Type.String({
      pattern: '^[!-~]{1,255}$',
      description:
        'Beyond the contract: the code that a validator of trademarks has given, where GET /check says `requires: mark_code` or ' +
        '`mark_code_and_mark`. Of no meaning elsewhere.',
    }),
  ),
  mark: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_SIGNED_MARK,
      description:
        'Beyond the contract: the document of the trademark (RFC 7848, `mark`), in base64, where GET /check says `requires: mark` or ' +
        '`mark_code_and_mark`. Of no meaning elsewhere.',
    }),
  ),
});
export type Registration = Static<typeof Registration>;

export const RenewalOrder = closedObject({ duration: Type.Optional(duration), ...payment });
export type RenewalOrder = Static<typeof RenewalOrder>;

export const RestorationOrder = closedObject(payment);
export type RestorationOrder = Static<typeof RestorationOrder>;

export const TradeOrder = closedObject({
  ...payment,
  transfer_lock: Type.Optional(
    Type.Boolean({
      description:
        'Whether the domain is locked against transfers afterwards, where its TLD locks it; true unless it is false.',
    }),
  ),
});
export type TradeOrder = Static<typeof TradeOrder>;

export const TransferOrder = closedObject({
  auth_code: Type.String({ minLength: 1, maxLength: 255, description: 'The EPP code of the present registrar.' }),
  ...payment,
});
export type TransferOrder = Static<typeof TransferOrder>;

export const Spending = component(
  'Spending',
  Type.Object({
    domain: Type.String(),
    kind: oneOf(['registration', 'renewal', 'transfer', 'restoration', 'trade']),
    status: oneOf(['Completed', 'Pending'], {
      description:
        '`Pending`: the registry has taken it, or has not answered yet; GET /orders/{order_id} says what becomes of it, in seconds to minutes mostly, in days of a transfer.',
    }),
    order_id: Type.String(),
    duration: Type.Integer({ description: 'Years bought.' }),
    price: Type.Number({ description: 'What was charged, in EUR.' }),
    currency: oneOf(['EUR']),
    paid_with: oneOf(['wallet', 'card']),
    expires_at: nullable(timestamp(), { description: 'The new expiry, once the registry has confirmed it.' }),
  }),
);
export type Spending = Static<typeof Spending>;

export const DeletionQuery = Type.Object({
  when: Type.Optional(
    oneOf(['now', 'at_expiry'], {
      description:
        '`now` has the registry delete it, `at_expiry` leaves it to expire. Default: what the TLD’s registry offers, see `deletes` in GET /tlds.',
    }),
  ),
});

export const Deletion = Type.Object({
  domain: Type.String(),
  status: oneOf(['Deleted', 'Pending', 'ReleaseScheduled'], {
    description:
      '`Deleted`: it has left the portfolio. `Pending`: the registry has taken the deletion. `ReleaseScheduled`: it is left to expire at `release_at`.',
  }),
  release_at: nullable(timestamp()),
  refunded: Type.Optional(
    Type.Number({ description: 'What came back into the wallet, in EUR; absent: nothing, or not yet.' }),
  ),
});
export type Deletion = Static<typeof Deletion>;
