import { systemClock } from '../../../kernel/clock/clock.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { readTimestamp } from '../../../kernel/http/schema.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { requireSmith } from '../../access/gate.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { type ReferenceKind, requireReferences, smithOf } from '../../access/references.ts';
import { recordTenantUsage } from '../../usage/index.ts';
import { renderMeterEvent } from './list-meter-events.ts';
import { MAX_CLOCK_SKEW_MINUTES, MAX_EVENT_AGE_DAYS, type MeterEvent, type MeterEventIn } from './schema.ts';
import { findMeterEvent } from './store.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

export async function createMeterEvent({
  tx,
  caller,
  body,
}: ProjectChange<{ body: MeterEventIn }>): Promise<MeterEvent> {
  checkQuantity(body.quantity);
  const at = body.at == null ? undefined : readMoment(body.at);
  if (body.smith_id != null) requireSmith(caller, body.smith_id);
  const smithId = body.smith_id ?? smithOf(caller) ?? null;
  const requireOne = (kind: ReferenceKind, param: string, value: string | null | undefined) =>
    requireReferences(tx, caller, kind, value == null ? [] : [value], () => new ApiError('not_found', { param }));
  // A smith token's own smith is there: its token would not be valid otherwise.
  if (caller.kind !== 'smith') await requireOne('smith', 'smith_id', smithId);
  await requireOne('customer', 'customer_id', body.customer_id);
  const id = mintId('use');
  await recordTenantUsage(tx, [
    {
      id,
      source: 'meter',
      meter: body.meter,
      quantity: body.quantity,
      smithId,
      customerId: body.customer_id ?? null,
      tokenId: caller.tokenId,
      ...(at === undefined ? {} : { at }),
    },
  ]);
  const row = await findMeterEvent(tx, id);
  if (row === undefined) throw new Error('a meter event that was recorded is gone');
  return renderMeterEvent(row);
}

const MILLION = 1_000_000;

function checkQuantity(quantity: number): void {
  if (Math.round(quantity * MILLION) / MILLION === quantity) return;
  throw new ApiError('invalid_quantity', {
    param: 'quantity',
    message: '`quantity` has more than six decimals. Round it.',
  });
}

function readMoment(text: string): Date {
  const at = readTimestamp(text);
  const ageMs = systemClock.now().getTime() - at.getTime();
  if (ageMs >= -MAX_CLOCK_SKEW_MINUTES * MINUTE_MS && ageMs <= MAX_EVENT_AGE_DAYS * DAY_MS) return at;
  throw new ApiError('invalid_request', {
    param: 'at',
    message: `\`at\` is at most ${MAX_EVENT_AGE_DAYS} days ago and at most ${MAX_CLOCK_SKEW_MINUTES} minutes ahead.`,
  });
}
