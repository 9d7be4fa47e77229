/**
 * An order is one spending call: a registration, a renewal, a transfer, a restoration or a trade. Its row is written, with the hold of its price,
 * before anything is sent, and it ends in exactly one of two ways, even if processes die in between:
 *
 *             card                    charged
 *   place ───────────▶ paying ──────────────────▶ held ──┐
 *     │                  │ declined                       │
 *     │ wallet           └───────────────────────────────┼──────────────▶ failed (hold released, charge refunded)
 *     └─────────────────────────────────▶ submitted ◀────┘                   ▲
 *                                          │  ▲  │  │ refused by the registry │
 *                        unknown: asked by │  │  │  └─────────────────────────┤
 *                        `info`, then sent └──┘  ├─▶ pending ─────────────────┘
 *                        again                   ▼      │
 *                                            completed ◀┘ (hold captured)
 *
 * - `submitted` is committed before the command is sent. A process that finds an order in that state cannot know whether
 *   the command arrived, so it asks the registry first and repeats the command only when the registry shows no effect of it; see
 *   the registry port for why repeating is safe.
 * - A success reported by the registry is accepted from any worker at any time; a refusal only from a worker that is the
 *   only one to have sent a command.
 * - A refusal because our account at the registry has no credit (2104) is nobody's fault but ours: the order keeps its hold and waits for
 *   the operator, who is told, and for credit.
 * - An order that was placed while the registry did not say its price, or what the launch of its TLD demands, asks for that first, before a
 *   card is charged and before anything is sent (settle-price.ts). It fails where the price is another than its caller has agreed to, and
 *   waits where a notice has to be accepted (settle-launch.ts); each for a bounded time.
 * - An acquisition is done only by what it did: what the registry had of the name before is written down first (baseline.ts), and what it
 *   shows afterwards is held against that (evidence.ts).
 * - An application in a launch is not sent again where it may have arrived, as the registry may take two. Its end is told by the registry, or by
 *   the operator. What it costs is captured as soon as the registry has taken it, where it does not come back (applications.ts).
 * - A restoration is done when the name is ours and not in its redemption period any more; after a lost answer, when the name was changed last while
 *   commands left for it. Else it may have been restored by hand, and waits for the operator.
 * - A trade is done when the registry shows the holder that it was bought for, and did not before. It has failed when the registry says so of a trade
 *   that is newer than those before the order. One that the registry has taken is not sent again.
 * - One acquisition of a name, one renewal of a term, one restoration and one trade of a name at a time, and one order of an Idempotency-Key: unique
 *   indexes keep that.
 */
import type { Selectable } from 'kysely';
import type { IdempotencyClaim } from '../../kernel/http/operation.ts';
import type { ApplicationPrice } from '../prices/price.ts';
import type { RenewalFee } from '../prices/quote.ts';
import type { ClaimsAcceptance } from '../registry/claims-notices.ts';
import type { HeldMark, LaunchPhaseName, Registrant, RegistryFee } from '../registry/registry.ts';
import type { Baseline, OrderKind, WorkspaceTables } from '../tables.ts';
import type { Instrument } from '../wallet/payments/payments.ts';

export type OrderRow = Selectable<WorkspaceTables['orders']>;

/** What may be bought. */
export interface Purchase extends HeldMark {
  readonly workspaceId: string;
  readonly kind: OrderKind;
  readonly origin: 'request' | 'auto_renew';
  /** ASCII. */
  readonly name: string;
  /** Of a transfer: the years that it adds. */
  readonly years: number;
  readonly priceCents: number;
  /** Absent: the wallet pays. */
  readonly instrument?: Instrument | undefined;
  readonly authCode?: string | undefined;
  /** Absent: the registry is asked before anything is sent. */
  readonly baseline?: Baseline | undefined;
  readonly claim?: IdempotencyClaim | undefined;
  /** What the registry asks, and is told with the command; absent: it does not say. */
  readonly fee?: RegistryFee | undefined;
  /** Of a name that a trademark claims. */
  readonly claimsAcceptance?: ClaimsAcceptance | undefined;
  /** In which the name is applied for; absent: it is no application. */
  readonly launchPhase?: LaunchPhaseName | undefined;
  /** What of the price is for the application. */
  readonly application?: ApplicationPrice | undefined;
  /** Of a trade: who is to hold the name, and for how long transfers are locked afterwards. */
  readonly holder?: { readonly registrant: Registrant; readonly lockDays: number } | undefined;
  /** What auto-renew will cost a name with a price of its own. */
  readonly renewalFee?: RenewalFee | undefined;
  /** The registry did not say the price, or what the launch demands: it is asked before anything is charged or sent (settle-price.ts). */
  readonly isPriceUnasked?: boolean | undefined;
}

/** What has come of an order so far. */
export type OrderOutcome =
  | { readonly kind: 'completed' | 'pending'; readonly order: OrderRow }
  | { readonly kind: 'failed'; readonly order: OrderRow }
  /** Not known yet; the order is checked again. */
  | { readonly kind: 'unknown'; readonly order: OrderRow };

export function orderOutcome(order: OrderRow): OrderOutcome {
  // Nothing comes of asking again at once.
  if ((order.waits_for_credit || order.price_unasked) && !isOver(order)) return { kind: 'pending', order };
  switch (order.state) {
    case 'completed':
    case 'pending':
    case 'failed':
      return { kind: order.state, order };
    default:
      return { kind: 'unknown', order };
  }
}

function isOver({ state }: OrderRow): boolean {
  return state === 'completed' || state === 'failed';
}

/** What it buys: of bookings, and of charges at the payment provider. */
export function describeOrder({ kind, name }: Pick<OrderRow, 'kind' | 'name'>): string {
  return `${kind} of ${name}`;
}

/** What events say of an order. */
export function factsOf({ id, kind, origin, name, years, amount_cents, pays_with }: OrderRow) {
  return { order_id: id, kind, origin, domain: name, duration: years, price_cents: amount_cents, paid_with: pays_with };
}

/** Why an order failed, as its caller sees it. */
export interface OrderFailure {
  readonly code:
    | 'registration_failed'
    | 'renew_failed'
    | 'transfer_failed'
    | 'restore_failed'
    | 'trade_failed'
    | 'payment_failed'
    | 'price_changed';
  /** In our own words. */
  readonly message: string;
  /** The registry's, for the operator alone. */
  readonly registrySaid?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

const failureCodes = {
  registration: 'registration_failed',
  renewal: 'renew_failed',
  transfer: 'transfer_failed',
  restoration: 'restore_failed',
  trade: 'trade_failed',
} as const;

/** The code of a refusal by the registry. */
export function failureCodeOf(kind: OrderKind): (typeof failureCodes)[OrderKind] {
  return failureCodes[kind];
}
