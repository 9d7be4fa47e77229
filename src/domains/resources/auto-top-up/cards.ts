/** As with top-ups, the page is opened before anything is written: without a row there is an unused page, which expires by itself. */
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { HttpReply } from '../../../kernel/http/operation.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { answerOnce } from '../../answer-once.ts';
import type { AnswerStore } from '../../idempotency-store.ts';
import type { WorkspaceTurn } from '../../operation.ts';
import { getRegistrant } from '../../registrant.ts';
import { findSettings, lockSettings } from '../../wallet/index.ts';
import type { Payments } from '../../wallet/payments/payments.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { renderAutoTopUp } from './render-auto-top-up.ts';
import type { AutoTopUp, CardPage } from './schema.ts';

export interface CardDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly answers: AnswerStore;
  readonly payments: Payments;
}

const STATUS = 201;

/** A further page takes the place of one that is open. Throws `payment_failed`. */
export function saveCard(deps: CardDependencies) {
  return (request: WorkspaceTurn): Promise<HttpReply<CardPage>> => {
    const { clock, db, payments } = deps;
    const { workspaceId } = request.caller;
    const work = async (): Promise<CardPage> => {
      const scoped = workspaceDb(db, workspaceId);
      const known = await findSettings(scoped);
      const page = await payments.openCardPage({
        idempotencyKey: `card:${mintId('pay')}`,
        workspaceId,
        email: (await getRegistrant(scoped)).email,
        customer: known?.customer_reference ?? null,
      });
      await db.transaction(async (tx) => {
        const held = workspaceDb(tx, workspaceId);
        await lockSettings(held);
        await held
          .updateTable('auto_top_ups')
          .set({
            customer_reference: page.customer,
            page_reference: page.reference,
            page_url: page.url,
            page_opened_at: clock.now(),
            page_looked_at: null,
          })
          .execute();
      });
      return { url: page.url };
    };
    return answerOnce(deps, request, work, STATUS);
  };
}

/** Switched off first: nothing is charged that is not being charged already. Throws `payment_failed` where the card may still be there. */
export function forgetCard(deps: CardDependencies) {
  return (request: WorkspaceTurn): Promise<HttpReply<AutoTopUp>> => {
    const { clock, db, payments } = deps;
    const { workspaceId } = request.caller;
    const work = async (): Promise<AutoTopUp> => {
      const card = await db.transaction(async (tx) => {
        const held = workspaceDb(tx, workspaceId);
        const { card_reference } = await lockSettings(held);
        await held.updateTable('auto_top_ups').set({ enabled: false, updated_at: clock.now() }).execute();
        return card_reference;
      });
      const scoped = workspaceDb(db, workspaceId);
      if (card !== null) {
        await payments.forgetCard(card);
        const none = { card_reference: null, enabled: false };
        await scoped.updateTable('auto_top_ups').set(none).where('card_reference', '=', card).execute();
      }
      return renderAutoTopUp(scoped, await findSettings(scoped), clock.now());
    };
    return answerOnce(deps, request, work);
  };
}
