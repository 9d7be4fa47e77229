/**
 * The port to the payment provider of wallets. Every call that makes something names an idempotency key of ours, so that
 * repeating a call whose answer was lost makes it once. Each but `charge` and `readEvent` throws ApiError `stripe_error` where
 * there is no answer.
 */
export interface CardPayments {
  createCustomer(request: CustomerRequest): Promise<string>;
  /** A page on which a card is saved. */
  openSetup(request: PageRequest): Promise<PaymentPage>;
  /** A page on which an amount is paid. Throws `invalid_amount` for one that is not taken. */
  openCheckout(request: PageRequest & Amount): Promise<PaymentPage>;
  /** Undefined: there is no such page. */
  findPage(sessionId: string): Promise<PageState | undefined>;
  /** Charges a saved card, with nobody present. Never throws. */
  charge(request: ChargeRequest): Promise<ChargeOutcome>;
  /** The page on which a customer's cards and receipts are. */
  openPortal(customerId: string): Promise<string>;
  /** Of one payment, whatever became of each. */
  listRefunds(intentId: string): Promise<readonly Refund[]>;
  /** Of one payment, whatever became of each. */
  listDisputes(intentId: string): Promise<readonly Dispute[]>;
  /** What a signed message says. Throws `missing_signature`, `bad_signature` and `bad_webhook`. */
  readEvent(message: SignedMessage): Promise<PaymentEvent>;
}

export interface CustomerRequest {
  readonly idempotencyKey: string;
  readonly organizationId: string;
  readonly name: string;
}

export interface Amount {
  readonly amountCents: number;
  readonly currency: string;
}

/** Whose payment it is: comes back with everything that the provider says of it. */
export interface PaymentLabel {
  readonly organizationId: string;
  readonly paymentId: string;
}

export interface PageRequest {
  readonly idempotencyKey: string;
  readonly label: PaymentLabel;
  readonly customerId: string;
  readonly currency: string;
  readonly returnUrl: string;
}

export interface PaymentPage {
  readonly sessionId: string;
  readonly url: string;
}

export interface PageState {
  readonly status: 'open' | 'complete' | 'expired';
  /** The provider's word: `paid`, `unpaid` or `no_payment_required`. */
  readonly paymentStatus: string;
  readonly amountCents: number | null;
  /** What was paid by. */
  readonly intentId: string | null;
  /** The card that was saved. */
  readonly cardId: string | null;
}

export interface ChargeRequest extends Amount {
  readonly idempotencyKey: string;
  /** When it was asked for the first time: keys are forgotten after a day, and then it is looked for before it is made. */
  readonly requestedAt: Date;
  readonly label: PaymentLabel;
  readonly customerId: string;
  readonly cardId: string;
}

/** `unknown`: no answer; the same call tells later. */
export type ChargeOutcome =
  | { readonly kind: 'succeeded'; readonly intentId: string }
  | { readonly kind: 'declined'; readonly reason: string; readonly cardIsGone: boolean }
  | { readonly kind: 'unknown' };

export interface Refund {
  readonly id: string;
  readonly amountCents: number;
  /** Whether the money went back, or is on its way; false where it has failed. */
  readonly isGiven: boolean;
}

export interface Dispute extends Amount {
  readonly id: string;
  /** Of the payment. */
  readonly label: PaymentLabel | undefined;
  /** Whether the money has left the seller's account, and whether it came back. */
  readonly isWithdrawn: boolean;
  readonly isReinstated: boolean;
}

export interface SignedMessage {
  readonly bytes: Uint8Array;
  readonly signature: string | undefined;
  readonly receivedAt: Date;
}

/** What a wallet acts on; `other` is everything else. */
export type PaymentEvent = { readonly id: string; readonly type: string } & (
  | { readonly kind: 'page'; readonly label: PaymentLabel | undefined; readonly sessionId: string }
  | { readonly kind: 'charge'; readonly label: PaymentLabel | undefined }
  | { readonly kind: 'refund'; readonly label: PaymentLabel | undefined; readonly intentId: string | null }
  | { readonly kind: 'dispute'; readonly intentId: string | null }
  | { readonly kind: 'card removed'; readonly cardId: string }
  | { readonly kind: 'card chosen'; readonly customerId: string; readonly cardId: string }
  | { readonly kind: 'other' }
);
