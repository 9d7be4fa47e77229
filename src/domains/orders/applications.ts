/**
 * Applications for names of a TLD that is being launched. The price of an order is set aside whole:
 *
 *   held ──the registry has taken it──▶ the application captured, the registration held ──allocated──▶ the rest captured
 *                                                                                       └──lost─────▶ the rest back
 *
 * What comes back where the name is lost stays held until then, and goes back with the rest.
 */
import type { Transaction } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { formatEuros } from '../prices/money.ts';
import type { ApplicationPrice } from '../prices/price.ts';
import type { LaunchPhaseName, RegistryMessage } from '../registry/registry.ts';
import { captureApplication } from '../wallet/index.ts';
import { workspaceDb } from '../workspace-scope.ts';
import type { OrderFailure, OrderRow } from './order.ts';

/** An order of before there were others than sunrises. */
const FIRST_PHASE: LaunchPhaseName = { phase: 'sunrise' };

/** Of an application whose registry has said how it calls it. */
export function askedApplicationOf({ application_id: id, launch_phase: phase, name }: OrderRow) {
  return id === null ? undefined : { id, name, phase: phase ?? FIRST_PHASE };
}

/** Throws `registration_failed` where the price is of an application, and the registry takes none now: the phase has ended meanwhile. */
export function requirePhase(
  { name }: Pick<OrderRow, 'name'>,
  price: ApplicationPrice | undefined,
  phase: LaunchPhaseName | undefined,
): void {
  if (price === undefined || phase !== undefined) return;
  throw new ApiError('registration_failed', {
    message: `${name} is not applied for any more, as the launch of its TLD has come to another phase. Nothing was charged. GET /check says how it is sold now.`,
    details: { reason: 'launch' },
  });
}

/** Whether the message is about what was sent for the order: it has the application's id, or our own of its create. */
export function isAboutApplication(
  { application_id: id, id: orderId, is_application: isApplication }: OrderRow,
  { applicationId, transactionId }: Pick<RegistryMessage, 'applicationId' | 'transactionId'>,
): boolean {
  if (!isApplication || applicationId === undefined) return false;
  return id === null ? transactionId?.startsWith(`${orderId}.`) === true : id === applicationId;
}

/** The registry has the application, and what it costs does not come back. `order`: its row, which this transaction holds. */
export async function takeApplication(tx: Transaction, order: OrderRow, now: Date): Promise<OrderRow> {
  const { application_cents: amountCents, id: orderId, workspace_id: workspaceId } = order;
  if (!isKept(order) || order.application_taken_at !== null) return order;
  await captureApplication(tx, { workspaceId, orderId, amountCents });
  return workspaceDb(tx, workspaceId)
    .updateTable('orders')
    .set({ application_taken_at: now })
    .where('id', '=', orderId)
    .returningAll()
    .executeTakeFirstOrThrow();
}

function isKept({ application_cents: cents, application_refunded: isRefunded }: OrderRow): boolean {
  return cents > 0 && !isRefunded;
}

/** What has not been captured yet. */
export function heldCentsOf({
  amount_cents: cents,
  application_cents: application,
  application_taken_at: takenAt,
}: OrderRow): number {
  return takenAt === null ? cents : cents - application;
}

/** What has become of the money of an order that fails. */
export function explainMoney(order: OrderRow): string {
  if (order.application_taken_at === null) return 'Nothing was charged.';
  return `The application cost ${formatEuros(order.application_cents)}, which is not given back; the rest is.`;
}

/** The registry has given the name to somebody else, or to nobody. */
export function applicationFailure(order: OrderRow, now: Date): OrderFailure {
  const money = explainMoney(isKept(order) ? { ...order, application_taken_at: now } : order);
  return {
    code: 'registration_failed',
    message: `The registry has rejected the application for ${order.name}. ${money}`,
  };
}
