/** Pages of the payment provider on which cards are saved: looked up until each has one, or has expired. */
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { systemDb, workspaceDb } from '../../workspace-scope.ts';
import type { Payments } from '../payments/payments.ts';

interface PageDependencies {
  readonly db: Database;
  readonly payments: Payments;
  readonly clock: Clock;
  readonly logger: Logger;
}

const BATCH = 20;
/** Between two looks at a page. */
const LOOK_MS = 15_000;
/** Twice as long as the payment provider keeps a page open. */
const EXPIRED_AFTER_MS = 48 * 3_600_000;

const noPage = { page_reference: null, page_url: null, page_opened_at: null, page_looked_at: null } as const;

export async function settleCardPages(deps: PageDependencies, signal?: AbortSignal): Promise<void> {
  const { clock, db, logger, payments } = deps;
  const before = new Date(clock.now().getTime() - LOOK_MS);
  const due = await systemDb(db)
    .selectFrom('auto_top_ups')
    .select(['workspace_id', 'page_reference', 'page_opened_at'])
    .where('page_reference', 'is not', null)
    .where((where) => where.or([where('page_looked_at', 'is', null), where('page_looked_at', '<=', before)]))
    .orderBy('page_looked_at', (order) => order.asc().nullsFirst())
    .limit(BATCH)
    .execute();
  for (const { workspace_id, page_reference, page_opened_at } of due) {
    if (signal?.aborted === true || page_reference === null) return;
    try {
      const now = clock.now();
      const found = await payments.lookUpCardPage(page_reference);
      const isOld = now.getTime() - (page_opened_at?.getTime() ?? 0) > EXPIRED_AFTER_MS;
      const isOver = found.kind === 'expired' || isOld;
      // Another page may have been opened meanwhile.
      await workspaceDb(db, workspace_id)
        .updateTable('auto_top_ups')
        .set(
          found.kind === 'saved'
            ? { ...noPage, card_reference: found.card, failure: null }
            : isOver
              ? noPage
              : { page_looked_at: now },
        )
        .where('page_reference', '=', page_reference)
        .execute();
    } catch (error) {
      logger.warn({ err: error, workspaceId: workspace_id }, 'a page that saves a card could not be looked up');
      return;
    }
  }
}

/** When the first of the pages is looked up again that have no card yet. */
export async function findNextCardPage(db: Database): Promise<Date | undefined> {
  const page = await systemDb(db)
    .selectFrom('auto_top_ups')
    .where('page_reference', 'is not', null)
    .select('page_looked_at')
    .orderBy('page_looked_at', (order) => order.asc().nullsFirst())
    .limit(1)
    .executeTakeFirst();
  return page && new Date((page.page_looked_at?.getTime() ?? 0) + LOOK_MS);
}
