/**
 * An order is one spending call: a registration, a renewal or a transfer. Its row is written, with the hold of its price,
 * before anybody else is told of it, and it ends in exactly one of two ways, whatever dies in between:
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
 *   the command arrived, so it asks the registry first and repeats the command only when nothing is to be seen of it; see
 *   the registry port for why repeating is safe.
 * - What the registry has done is believed from any worker at any time; that it refused is believed only where the worker
 *   is the only one that sent anything.
 * - One acquisition of a name, one renewal of a term, and one order of an Idempotency-Key: unique indexes keep that.
 */
import type { Selectable } from 'kysely';
import type { IdempotencyClaim } from '../../kernel/http/operation.ts';
import type { Registry } from '../registry/registry.ts';
import type { OrderKind, WorkspaceTables } from '../tables.ts';
import type { Instrument, Payments } from '../wallet/payments/payments.ts';

export type OrderRow = Selectable<WorkspaceTables['orders']>;

/** What may be bought. */
export interface Purchase {
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
  readonly claim?: IdempotencyClaim | undefined;
}

/** How an order stands after it was worked on. */
export type Standing =
  | { readonly kind: 'completed' | 'pending'; readonly order: OrderRow }
  | { readonly kind: 'failed'; readonly order: OrderRow }
  /** Nobody knows yet; it is looked at again. */
  | { readonly kind: 'unsettled'; readonly order: OrderRow };

export interface OrderParties {
  readonly registry: Registry;
  readonly payments: Payments;
}

export function standingOf(order: OrderRow): Standing {
  switch (order.state) {
    case 'completed':
    case 'pending':
    case 'failed':
      return { kind: order.state, order };
    default:
      return { kind: 'unsettled', order };
  }
}

/** Why an order failed, as its caller is told. */
export interface OrderFailure {
  readonly code: 'registration_failed' | 'renew_failed' | 'transfer_failed' | 'payment_failed';
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

const failureCodes = {
  registration: 'registration_failed',
  renewal: 'renew_failed',
  transfer: 'transfer_failed',
} as const;

/** The code of a refusal by the registry. */
export function failureCodeOf(kind: OrderKind): (typeof failureCodes)[OrderKind] {
  return failureCodes[kind];
}
