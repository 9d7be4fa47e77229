/** As in sign-up, the page is opened before anything is written: without a row there is an unused page, which expires by itself. */
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { HttpReply } from '../../../kernel/http/operation.ts';
import { answerOnce } from '../../answer-once.ts';
import type { AnswerStore } from '../../idempotency-store.ts';
import type { WorkspaceTurn } from '../../operation.ts';
import { toEuros } from '../../prices/money.ts';
import { getRegistrant } from '../../registrant.ts';
import { insertTopUp, openTopUpPage, readTopUpAmount } from '../../wallet/index.ts';
import type { Payments } from '../../wallet/payments/payments.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { TopUp, TopUpCreate } from './schema.ts';
import { countOpenTopUps } from './store.ts';

export interface TopUpDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly answers: AnswerStore;
  readonly payments: Payments;
}

/** Each is looked up at the payment provider until it is paid or has expired. */
const MOST_OPEN = 10;
const STATUS = 201;

/** Throws `payment_failed`. */
export function createTopUp(deps: TopUpDependencies) {
  return (request: WorkspaceTurn<{ body: TopUpCreate }>): Promise<HttpReply<TopUp>> => {
    const amountCents = readTopUpAmount(request.body.amount, 'amount');
    const { workspaceId } = request.caller;
    const work = async (): Promise<TopUp> => {
      const { clock, db, payments } = deps;
      const scoped = workspaceDb(db, workspaceId);
      requireRoom(await countOpenTopUps(scoped));
      const opened = await openTopUpPage(payments, (await getRegistrant(scoped)).email, amountCents);
      const now = clock.now();
      await db.transaction((tx) => insertTopUp(tx, workspaceId, { ...opened, now }));
      return {
        id: opened.id,
        amount: toEuros(amountCents),
        currency: 'EUR',
        url: opened.page.url,
        state: 'open',
        created_at: now.toISOString(),
      };
    };
    return answerOnce(deps, request, work, STATUS);
  };
}

function requireRoom(open: number): void {
  if (open < MOST_OPEN) return;
  throw new ApiError('payment_failed', {
    message: `${open} top-ups wait to be paid already. Pay one of them (GET /wallet/top-ups), or wait until they expire after a day.`,
    details: { kind: 'too_many_open' },
  });
}
