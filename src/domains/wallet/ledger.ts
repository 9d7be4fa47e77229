/**
 * The wallet's ledger: double entry in integer cents (EUR), append-only. Every booking moves an amount from one account to
 * another, so that its entries sum to zero:
 *
 *   card | demo | operator ─credit─▶ available ─hold─▶ held ─capture─▶ sales
 *                                        ▲               ├──release──┘ (back to available)
 *   card ─charge (pay as you go)─────────┼──────────────▶│ (an application goes before the rest: held ─application─▶ sales)
 *     ▲                                  └───────────────┤
 *     └──────────────────────refund──────────────────────┘
 *   sales ─grace_refund─▶ available, of a name that its registry has taken back; ─grace_return─▶ sales, where it has not after all
 *   available ─dispute─▶ card, of a payment that the card's holder disputes: also below zero, by no more than what is in dispute
 *   card ─dispute_won─▶ available
 *   available ─void─▶ demo, of what is left of play credit once names are real: see play-credit.ts
 *
 * An order holds once (`hold` or `charge`) and ends once (`capture`, `release` or `refund`), also when several try at the same time:
 * both bookings have an id that follows from the order, and the primary key lets one of them in. A booking locks the wallet's row
 * first, always, so that two bookings of a workspace cannot wait for each other, and by a statement of its own: the one that
 * books then sees what those before it have committed. One statement that locks and books sees what was there when it began to wait.
 *
 * Every function takes the caller's transaction and answers whether it booked: false says that this event was booked before.
 */
import type { Executor } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { appendEvent } from '../events/index.ts';
import { formatEuros } from '../prices/money.ts';
import type { LedgerAccount } from '../tables.ts';

export interface Credit {
  readonly workspaceId: string;
  readonly source: 'card' | 'demo' | 'operator';
  /** At least 1. */
  readonly amountCents: number;
  /** Names the event, such as `payment:<id>`: it is booked once. */
  readonly reference: string;
  readonly description: string;
}

export interface OrderOfWorkspace {
  readonly workspaceId: string;
  readonly orderId: string;
}

export interface Hold extends OrderOfWorkspace {
  /** 0 is a hold like any other, of nothing. */
  readonly amountCents: number;
  /** What it is for; whatever ends it says the same. */
  readonly description?: string;
}

export interface NameRefund {
  readonly workspaceId: string;
  readonly domainId: string;
  readonly name: string;
  /** At least 1. */
  readonly amountCents: number;
  /** The how many-th of the name; from 1. */
  readonly turn: number;
}

export interface DisputedAmount {
  readonly workspaceId: string;
  /** The payment provider's. */
  readonly disputeId: string;
  /** At least 1. */
  readonly amountCents: number;
}

export interface Wallet {
  /** Below zero where more was disputed than there was. */
  readonly availableCents: number;
  readonly heldCents: number;
}

type Event = 'hold' | 'charge' | 'application' | 'capture' | 'release' | 'refund';

/** Makes the workspace's empty wallet. */
export async function openWallet(tx: Executor, workspaceId: string): Promise<void> {
  await tx.query({
    text: 'insert into domains.wallets (workspace_id) values ($1) on conflict do nothing',
    values: [workspaceId],
  });
}

/** Adds money to what is available. */
export async function credit(tx: Executor, { workspaceId, source, ...asked }: Credit): Promise<boolean> {
  const { amountCents, reference, description } = asked;
  checkAmount(amountCents, 1);
  const values = [workspaceId, mintId('ltx'), 'credit', reference, description, source, 'available', amountCents];
  const { isBooked, availableCents } = await book(tx, bookAmount, values);
  if (!isBooked) return false;
  const data = { source, amount_cents: amountCents, available_cents: availableCents + amountCents, description };
  await appendEvent(tx, workspaceId, { type: 'wallet.credited', data });
  return true;
}

/**
 * Sets money aside for an order. Throws ApiError `insufficient_balance` with `required` and `available` in cents when the
 * wallet does not cover it; nothing is booked then, and the transaction can go on.
 */
export async function hold(tx: Executor, { workspaceId, orderId, amountCents, description }: Hold): Promise<boolean> {
  checkAmount(amountCents, 0);
  const values = [...eventOf('hold', workspaceId, orderId, description), 'available', 'held', amountCents];
  const { isBooked, availableCents, thresholdCents } = await book(tx, bookCovered, values);
  if (isBooked) {
    const wallet = { beforeCents: availableCents, afterCents: availableCents - amountCents, thresholdCents };
    await tellIfLow(tx, workspaceId, wallet);
  }
  if (isBooked || (await isReferenceBooked(tx, orderId, 'hold'))) return isBooked;
  if (availableCents >= amountCents) throw new Error(`the order ${orderId} holds money of a card already`);
  throw new ApiError('insufficient_balance', {
    message: `The wallet has ${formatEuros(availableCents)} available and this needs ${formatEuros(amountCents)}. Top it up, or pass \`payment_method\` or \`shared_payment_token\`.`,
    details: { required: amountCents, available: availableCents },
  });
}

/** Sets money aside that a card was charged with for this order. */
export async function holdCharge(
  tx: Executor,
  { workspaceId, orderId, amountCents, description }: Hold,
): Promise<boolean> {
  checkAmount(amountCents, 0);
  const values = [...eventOf('charge', workspaceId, orderId, description), 'card', 'held', amountCents];
  const { isBooked } = await book(tx, bookAmount, values);
  if (isBooked || (await isReferenceBooked(tx, orderId, 'charge'))) return isBooked;
  throw new Error(`the order ${orderId} holds money of the wallet already`);
}

/**
 * A part of what the order holds becomes revenue, before it ends: its application. Throws Error when it holds nothing, or has ended.
 */
export async function captureApplication(
  tx: Executor,
  { amountCents, orderId, workspaceId }: OrderOfWorkspace & { readonly amountCents: number },
): Promise<boolean> {
  checkAmount(amountCents, 1);
  const values = [...eventOf('application', workspaceId, orderId), 'held', 'sales', amountCents];
  const { isBooked } = await book(tx, bookPart, [...values, holdIdOf(orderId), endIdOf(orderId)]);
  if (isBooked || (await isReferenceBooked(tx, orderId, 'application'))) return isBooked;
  throw new Error(`cannot book the application of the order ${orderId}: it holds nothing`);
}

/** What the order holds becomes revenue. Throws Error when it never held anything, or ended otherwise. */
export async function capture(tx: Executor, order: OrderOfWorkspace): Promise<boolean> {
  return endHold(tx, order, 'capture', 'sales');
}

/** What the order holds is available again. Throws as `capture`. */
export async function release(tx: Executor, order: OrderOfWorkspace): Promise<boolean> {
  return endHold(tx, order, 'release', 'available');
}

/** What the order holds goes back to the card that it came from. Throws as `capture`. */
export async function refundHeld(tx: Executor, order: OrderOfWorkspace): Promise<boolean> {
  return endHold(tx, order, 'refund', 'card');
}

/** See grace-refunds.ts. The first of a name has the ids that were there before there were several. */
export async function bookGraceRefund(tx: Executor, refund: NameRefund): Promise<boolean> {
  return bookGrace(tx, bookAmount, refund, ['grace_refund', '', 'sales', 'available']);
}

/** False also where the wallet does not cover it. */
export async function bookGraceReturn(tx: Executor, refund: NameRefund): Promise<boolean> {
  return bookGrace(tx, bookCovered, refund, ['grace_return', '_return', 'available', 'sales']);
}

async function bookGrace(
  tx: Executor,
  statement: string,
  { amountCents, domainId, name, turn, workspaceId }: NameRefund,
  [kind, suffix, from, to]: readonly [string, string, LedgerAccount, LedgerAccount],
): Promise<boolean> {
  checkAmount(amountCents, 1);
  const [id, reference] = [`${domainId}_grace${suffix}`, `name:${domainId}:${kind}`];
  const names = turn === 1 ? [id, kind, reference] : [`${id}_${turn}`, kind, `${reference}:${turn}`];
  return (await book(tx, statement, [workspaceId, ...names, name, from, to, amountCents])).isBooked;
}

/** What a card's holder disputes leaves the wallet, whatever is in it. */
export async function takeDisputed(
  tx: Executor,
  { amountCents, disputeId, workspaceId }: DisputedAmount,
): Promise<boolean> {
  checkAmount(amountCents, 1);
  const names = [workspaceId, mintId('ltx'), 'dispute', `dispute:${disputeId}`, 'disputed payment by card'];
  const booked = await book(tx, bookAmount, [...names, 'available', 'card', amountCents]);
  const { isBooked, availableCents, thresholdCents } = booked;
  if (isBooked) {
    const wallet = { beforeCents: availableCents, afterCents: availableCents - amountCents, thresholdCents };
    await tellIfLow(tx, workspaceId, wallet);
  }
  return isBooked;
}

/** What was taken comes back: the dispute is won. False also where nothing was taken. */
export async function returnDisputed(
  tx: Executor,
  { disputeId, workspaceId }: Omit<DisputedAmount, 'amountCents'>,
): Promise<boolean> {
  const description = 'dispute won: the payment is back';
  const names = [workspaceId, mintId('ltx'), 'dispute_won', `dispute_won:${disputeId}`, description];
  return (await book(tx, bookTaken, [...names, 'card', 'available', `dispute:${disputeId}`])).isBooked;
}

/** Play credit that is void; 0 says that none is left. Once a workspace. */
export async function bookVoid(tx: Executor, workspaceId: string, amountCents: number): Promise<boolean> {
  checkAmount(amountCents, 0);
  const names = [workspaceId, mintId('ltx'), 'void', `demo_void:${workspaceId}`, 'play credit that was left'];
  const booked = await book(tx, bookAmount, [...names, 'available', 'demo', amountCents]);
  const { isBooked, availableCents, thresholdCents } = booked;
  if (isBooked) {
    const wallet = { beforeCents: availableCents, afterCents: availableCents - amountCents, thresholdCents };
    await tellIfLow(tx, workspaceId, wallet);
  }
  return isBooked;
}

/** Throws `insufficient_balance` where more was disputed than the wallet had: until that is paid a card buys nothing either. */
export async function requireNoDebt(executor: Executor, workspaceId: string): Promise<void> {
  const { availableCents } = await readWallet(executor, workspaceId);
  if (availableCents >= 0) return;
  throw new ApiError('insufficient_balance', {
    message: `The wallet is ${formatEuros(-availableCents)} below zero, as a payment by card was disputed. Top it up first: POST /wallet/top-ups.`,
    details: { required: 0, available: availableCents },
  });
}

/** Throws Error when the workspace has no wallet. */
export async function readWallet(executor: Executor, workspaceId: string): Promise<Wallet> {
  const { rows } = await executor.query<{ available_cents: number; held_cents: number }>({
    text: 'select available_cents, held_cents from domains.wallets where workspace_id = $1',
    values: [workspaceId],
  });
  const row = rows[0];
  if (row === undefined) throw new Error(`the workspace ${workspaceId} has no wallet`);
  return { availableCents: row.available_cents, heldCents: row.held_cents };
}

interface Movement {
  readonly beforeCents: number;
  readonly afterCents: number;
  readonly thresholdCents: number | null;
}

/** Where this booking took the wallet below the threshold that its owner has set. */
async function tellIfLow(
  tx: Executor,
  workspaceId: string,
  { beforeCents, afterCents, thresholdCents }: Movement,
): Promise<void> {
  if (thresholdCents === null || thresholdCents <= afterCents || thresholdCents > beforeCents) return;
  const data = { available_cents: afterCents, threshold_cents: thresholdCents };
  await appendEvent(tx, workspaceId, { type: 'wallet.low', data });
}

/** As `readWallet`, locked until the transaction ends: nothing is booked meanwhile. */
export async function lockWallet(tx: Executor, workspaceId: string): Promise<Wallet> {
  await lockRow(tx, workspaceId);
  return readWallet(tx, workspaceId);
}

async function endHold(tx: Executor, order: OrderOfWorkspace, event: Event, to: LedgerAccount): Promise<boolean> {
  const { workspaceId, orderId } = order;
  const values = [...eventOf(event, workspaceId, orderId), 'held', to, holdIdOf(orderId), partIdOf(orderId)];
  const { isBooked } = await book(tx, bookHeld, values);
  if (isBooked || (await isReferenceBooked(tx, orderId, event))) return isBooked;
  throw new Error(`cannot book the ${event} of the order ${orderId}: it never held anything, or ended otherwise`);
}

/** One of these exists of each order: the primary key guarantees it. */
const holdIdOf = (orderId: string): string => `${orderId}_hold`;
const partIdOf = (orderId: string): string => `${orderId}_application`;
const endIdOf = (orderId: string): string => `${orderId}_end`;
const referenceOf = (orderId: string, event: Event): string => `order:${orderId}:${event}`;

/** Workspace, id, kind, reference and description of the booking. */
function eventOf(event: Event, workspaceId: string, orderId: string, description = ''): string[] {
  return [workspaceId, idOf(event, orderId), event, referenceOf(orderId, event), description];
}

function idOf(event: Event, orderId: string): string {
  if (event === 'hold' || event === 'charge') return holdIdOf(orderId);
  return event === 'application' ? partIdOf(orderId) : endIdOf(orderId);
}

interface Booked {
  readonly isBooked: boolean;
  /** Before the booking. */
  readonly availableCents: number;
  /** Its owner is told when less is available. */
  readonly thresholdCents: number | null;
}

async function lockRow(tx: Executor, workspaceId: unknown): Promise<void> {
  const { rowCount } = await tx.query({
    text: 'select from domains.wallets where workspace_id = $1 for no key update',
    values: [workspaceId],
  });
  if (rowCount === 0) throw new Error(`the workspace ${workspaceId} has no wallet`);
}

interface BookedRow {
  readonly is_booked: boolean;
  readonly available_cents: number;
  readonly threshold_cents: number | null;
}

async function book(tx: Executor, text: string, values: readonly unknown[]): Promise<Booked> {
  // Sent together: the store begins the second once the first has the lock.
  const [, { rows }] = await Promise.all([lockRow(tx, values[0]), tx.query<BookedRow>({ text, values })]);
  const [row] = rows as [BookedRow];
  return { isBooked: row.is_booked, availableCents: row.available_cents, thresholdCents: row.threshold_cents };
}

/** Looked up by a statement of its own, which sees what another transaction has committed meanwhile. */
async function isReferenceBooked(tx: Executor, orderId: string, event: Event): Promise<boolean> {
  const { rowCount } = await tx.query({
    text: 'select from domains.ledger_transactions where reference = $1',
    values: [referenceOf(orderId, event)],
  });
  return rowCount > 0;
}

/** An amount that is given. $1 workspace, $2 id, $3 kind, $4 reference, $5 description, $6 from, $7 to, $8 cents. */
const bookAmount = bookingStatement('select $8::bigint as cents, $5::text as description');
/** As `bookAmount`, where the wallet covers it. */
const bookCovered = bookingStatement(
  'select $8::bigint as cents, $5::text as description from wallet where wallet.available_cents >= $8::bigint',
);
/** What is left of what the transaction $8 put aside after its part $9, and what for. */
const bookHeld = bookingStatement(
  `select coalesce(sum(entry.amount_cents), 0)::bigint as cents, $5::text || placed.description as description
   from domains.ledger_transactions placed
   left join domains.ledger_entries entry
     on entry.workspace_id = placed.workspace_id and entry.transaction_id in (placed.id, $9) and entry.account = 'held'
   where placed.workspace_id = $1 and placed.id = $8
   group by placed.id, placed.description`,
);

/** The cents $8 of what the transaction $9 put aside, where $10 has not ended that. */
const bookPart = bookingStatement(
  `select $8::bigint as cents, $5::text || placed.description as description
   from domains.ledger_transactions placed
   where placed.workspace_id = $1 and placed.id = $9
     and not exists (select from domains.ledger_transactions ended where ended.workspace_id = $1 and ended.id = $10)`,
);

/** What the transaction of the reference $8 took from what is available. */
const bookTaken = bookingStatement(
  `select -entry.amount_cents as cents, $5::text as description
   from domains.ledger_transactions taken
   join domains.ledger_entries entry
     on entry.workspace_id = taken.workspace_id and entry.transaction_id = taken.id and entry.account = 'available'
   where taken.workspace_id = $1 and taken.reference = $8`,
);

/** What books, once the wallet is locked; `amount` selects `cents` and `description`, or no row where there is nothing to book. */
function bookingStatement(amount: string): string {
  return `
    with wallet as (
      select available_cents from domains.wallets where workspace_id = $1
    ), amount as (
      ${amount}
    ), booked as (
      insert into domains.ledger_transactions (workspace_id, id, kind, reference, description)
      select $1, $2, $3, $4, amount.description from wallet cross join amount
      on conflict do nothing
      returning id
    ), entries as (
      insert into domains.ledger_entries (workspace_id, transaction_id, position, account, amount_cents)
      select $1, booked.id, side.position, side.account, side.sign * amount.cents
      from booked cross join amount cross join (values (1, $6, -1), (2, $7, 1)) as side (position, account, sign)
      where amount.cents <> 0
    ), moved as (
      update domains.wallets set
        available_cents = wallets.available_cents
          + amount.cents * (($7 = 'available')::int - ($6 = 'available')::int),
        held_cents = wallets.held_cents + amount.cents * (($7 = 'held')::int - ($6 = 'held')::int),
        disputed_cents = wallets.disputed_cents + amount.cents * (($3 = 'dispute')::int - ($3 = 'dispute_won')::int),
        updated_at = now()
      from booked cross join amount
      where wallets.workspace_id = $1 and amount.cents <> 0
    )
    select available_cents, exists (select from booked) as is_booked,
      (select threshold_cents from domains.auto_top_ups where workspace_id = $1) as threshold_cents
    from wallet`;
}

function checkAmount(amountCents: number, leastCents: number): void {
  if (!Number.isSafeInteger(amountCents) || amountCents < leastCents) {
    throw new RangeError(`an amount is a whole number of cents of at least ${leastCents}: ${amountCents}`);
  }
}
