import type { Clock } from '../../../kernel/clock/clock.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { WorkspaceChange } from '../../operation.ts';
import { type AutoTopUpRow, lockSettings, readTopUpAmount } from '../../wallet/index.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { renderAutoTopUp } from './render-auto-top-up.ts';
import type { AutoTopUp, AutoTopUpSettings } from './schema.ts';

const MOST_A_MONTH_CENTS = 10_000_000;

/** What is left out stays as it was. Throws `bad_request`, and `payment_failed` where there is no card. */
export function setAutoTopUp({ clock }: { readonly clock: Clock }) {
  return async ({ body, caller, tx }: WorkspaceChange<{ body: AutoTopUpSettings }>): Promise<AutoTopUp> => {
    const db = workspaceDb(tx, caller.workspaceId);
    const before = await lockSettings(db);
    const now = clock.now();
    const amounts = readAmounts(body, before);
    if (body.enabled) requireReady(amounts, before);
    const row = await db
      .updateTable('auto_top_ups')
      // Whoever switches it on has seen why it was off.
      .set({
        ...amounts,
        enabled: body.enabled,
        updated_at: now,
        limit_told_in: null,
        ...(body.enabled ? { failure: null } : {}),
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    return renderAutoTopUp(db, row, now);
  };
}

type Amounts = Pick<AutoTopUpRow, 'threshold_cents' | 'amount_cents' | 'monthly_limit_cents'>;

function readAmounts({ threshold, amount, monthly_limit }: AutoTopUpSettings, before: AutoTopUpRow): Amounts {
  const read = (value: number | string | undefined, param: string, known: number | null, mostCents?: number) =>
    value === undefined ? known : readTopUpAmount(value, param, mostCents);
  const amounts = {
    threshold_cents: read(threshold, 'threshold', before.threshold_cents),
    amount_cents: read(amount, 'amount', before.amount_cents),
    monthly_limit_cents: read(monthly_limit, 'monthly_limit', before.monthly_limit_cents, MOST_A_MONTH_CENTS),
  };
  const { threshold_cents: low, amount_cents: charged, monthly_limit_cents: most } = amounts;
  if (low !== null && charged !== null && charged < low) {
    throw tooLittle('amount', '`amount` must be at least `threshold`: a charge lifts the wallet above it again.');
  }
  if (charged !== null && most !== null && most < charged) {
    throw tooLittle('monthly_limit', '`monthly_limit` must be at least `amount`: less would never charge anything.');
  }
  return amounts;
}

function tooLittle(param: string, message: string): ApiError {
  return new ApiError('bad_request', { param, message });
}

function requireReady(amounts: Amounts, { card_reference: card, disputed_card: disputed }: AutoTopUpRow): void {
  const names = ['threshold', 'amount', 'monthly_limit'] as const;
  const missing = names.find((name) => amounts[`${name}_cents`] === null);
  if (missing !== undefined) throw tooLittle(missing, `\`${missing}\` was never set. Send it.`);
  if (card !== null && card === disputed) {
    throw new ApiError('payment_failed', {
      message:
        'A payment by card is in dispute, or was taken back. Save another card (POST /wallet/card), or have the dispute withdrawn.',
      details: { kind: 'payment_disputed' },
    });
  }
  if (card !== null) return;
  throw new ApiError('payment_failed', {
    message: 'The workspace has no saved card. Save one first: POST /wallet/card, and open its `url`.',
    details: { kind: 'no_saved_card' },
  });
}
