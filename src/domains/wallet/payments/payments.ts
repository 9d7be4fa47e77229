/**
 * The port to the payment provider. Every call names an idempotency key of ours, one per operation and attempt, so that
 * repeating a call whose answer was lost charges once.
 *
 *   succeeded  the money is ours
 *   declined   the bank declined, or the instrument is not valid: nothing was charged
 *   unknown    no answer: repeat the call with the same key to learn it
 */
export type ChargeOutcome =
  | { readonly kind: 'succeeded'; readonly reference: string }
  | { readonly kind: 'declined'; readonly failure: PaymentFailure }
  | { readonly kind: 'unknown'; readonly reason: string };

/** `failed`: the payment provider failed and did nothing, and would say so again under the key: repeat the call as another attempt. */
export type RefundOutcome = ChargeOutcome | { readonly kind: 'failed'; readonly reason: string };

export interface PaymentFailure {
  /** `card_declined` is answered with 402, every other kind with 422. */
  readonly kind:
    | 'card_declined'
    | 'authentication_required'
    | 'invalid_instrument'
    | 'invalid_amount'
    | 'payments_unconfigured'
    /** Of refunds alone: the bank takes the money back, or has done so. */
    | 'charge_disputed';
  /** For people; holds no card data. */
  readonly message: string;
}

/** What pays: a payment method of the payment provider, a token that an agent was granted, or a card that a customer has saved. */
export type Instrument =
  | { readonly kind: 'payment_method' | 'shared_payment_token'; readonly value: string }
  | { readonly kind: 'saved_card'; readonly value: string; readonly customer: string };

export interface ChargeRequest {
  /** Chosen by us, one per operation and attempt. */
  readonly idempotencyKey: string;
  /**
   * When it was asked for the first time. The payment provider forgets keys after a day: a charge that is repeated later is
   * looked for before it is made. Absent: it was never asked for before, or lately.
   */
  readonly requestedAt?: Date;
  readonly amountCents: number;
  readonly instrument: Instrument;
  readonly description: string;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface RefundRequest {
  /** Ours. The payment provider keeps it with the refund. */
  readonly id: string;
  /** Counts those that `failed`. Each has an idempotency key of its own. */
  readonly attempt: number;
  /** When it was asked for the first time, as of a charge. */
  readonly requestedAt: Date;
  /** `reference` of the charge. */
  readonly reference: string;
  readonly amountCents: number;
}

export interface TopUpRequest {
  readonly idempotencyKey: string;
  readonly amountCents: number;
  readonly email: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A page of the payment provider on which a person pays. */
export interface TopUp {
  readonly reference: string;
  readonly url: string;
}

export interface CardPageRequest {
  readonly idempotencyKey: string;
  readonly workspaceId: string;
  readonly email: string;
  /** The payment provider's name of the workspace; null: it has none yet. */
  readonly customer: string | null;
}

/** A page of the payment provider on which a person saves a card. */
export interface CardPage extends TopUp {
  readonly customer: string;
}

export type CardPageState = { readonly kind: 'open' | 'expired' } | { readonly kind: 'saved'; readonly card: string };

/** A call of the payment provider, as it came. */
export interface SignedMessage {
  readonly bytes: Buffer;
  readonly signature: string | undefined;
  readonly receivedAt: Date;
}

/** That there is news of a payment: what it is has to be asked. */
export type PaymentEvent = { readonly kind: 'dispute'; readonly intent: string } | { readonly kind: 'other' };

/** A payment that the card's holder has the bank take back. */
export interface Dispute {
  readonly id: string;
  readonly amountCents: number;
  /** ISO 4217, lower case. */
  readonly currency: string;
  /** The money has left our account at the payment provider. */
  readonly isWithdrawn: boolean;
  /** It came back. */
  readonly isReinstated: boolean;
  readonly isLost: boolean;
  /** `idempotencyKey` of the charge, where it is one of ours. */
  readonly chargeKey: string | undefined;
}

export interface Payments {
  readonly isConfigured: boolean;
  /** Never throws; without configuration it is declined with `payments_unconfigured`. */
  charge(request: ChargeRequest): Promise<ChargeOutcome>;
  /** Never throws. */
  refund(request: RefundRequest): Promise<RefundOutcome>;
  /** Throws ApiError `payment_failed` when it cannot be opened. */
  openTopUp(request: TopUpRequest): Promise<TopUp>;
  /** Throws when there is no answer. */
  lookUpTopUp(reference: string): Promise<'open' | 'paid' | 'expired'>;
  /** Throws ApiError `payment_failed` when it cannot be opened. */
  openCardPage(request: CardPageRequest): Promise<CardPage>;
  /** Throws when there is no answer. */
  lookUpCardPage(reference: string): Promise<CardPageState>;
  /** The payment provider charges it never again. One that it does not know is no error. Throws ApiError `payment_failed`. */
  forgetCard(card: string): Promise<void>;
  /** Throws ApiError `bad_request` where the payment provider has not signed it, and `not_found` where none is known that could. */
  readEvent(message: SignedMessage): PaymentEvent;
  /** Of a charge, by the payment provider's name of it, as they are now. Throws when there is no answer. */
  listDisputes(intent: string): Promise<readonly Dispute[]>;
  /** `reference` of the top-ups that this charge has paid. Throws when there is no answer. */
  listPages(intent: string): Promise<readonly string[]>;
}
