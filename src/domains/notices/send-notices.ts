/**
 * Tells owners of names whose term ends and is not bought: see stages.ts for when. A notice is a row before it is a message:
 *
 *   (none) ──claimed, under the name's lock──▶ leased ──accepted by the mail server──▶ sent
 *                                               ▲  │ refused, or the process died
 *                                               └──┘ once the lease is over, with the same Message-ID
 *
 * So no two processes send one, none is lost, and one whose process died between the mail server's answer and the row is the same
 * message again.
 */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/log.ts';
import { appendEvent } from '../events/index.ts';
import type { Mailer } from '../mail/index.ts';
import { lockDomain } from '../portfolio/index.ts';
import type { PriceBook } from '../prices/price-book.ts';
import { getRegistrant } from '../registrant.ts';
import type { Registry } from '../registry/registry.ts';
import { addDays } from '../registry/term.ts';
import { chargeDeadline, findRenewalOrder, type Renewal, renewalOf } from '../renewals/index.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { composeNotice } from './notice-mail.ts';
import { type Stage, stageOf, stages } from './stages.ts';
import { claimNotice, type EndingName, listUntold, noteSent, type Position } from './store.ts';

export interface NoticeDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly mailer: Mailer;
  readonly prices: PriceBook;
  readonly registry: Pick<Registry, 'habitsOf'>;
}

const BATCH_SIZE = 100;
/** Longer than a message takes; one that was not accepted is sent again after it. */
const LEASE_MS = 900_000;
/** After so many the mail server counts as unreachable: the rest waits for the next run. */
const FAILURES_A_RUN = 3;
/** A registry that renews by itself has the name suspended, which its owner is told of; after so long without that, by a notice. */
const SUSPENSION_DAYS = 3;

/** Those that are due, once. Any number of processes may do so at a time. */
export async function sendExpiryNotices(deps: NoticeDependencies, signal?: AbortSignal): Promise<void> {
  let failures = 0;
  for (const stage of stages) {
    for await (const row of untold(deps, stage)) {
      if (signal?.aborted === true || failures === FAILURES_A_RUN) return;
      try {
        await tell(deps, row, stage);
        failures = 0;
      } catch (error) {
        failures += 1;
        deps.logger.error({ err: error, domain: row.name }, 'an owner was not told of an expiry; it is tried again');
      }
    }
  }
}

async function* untold({ clock, db }: NoticeDependencies, stage: Stage): AsyncGenerator<EndingName> {
  const now = clock.now();
  let after: Position | undefined;
  for (;;) {
    const batch = await listUntold(systemDb(db), stage, { now, after }, BATCH_SIZE);
    yield* batch;
    const last = batch.at(-1);
    if (last === undefined || batch.length < BATCH_SIZE) return;
    after = { expiresAt: last.expires_at, id: last.id };
  }
}

async function tell(deps: NoticeDependencies, seen: EndingName, stage: Stage): Promise<void> {
  const { clock, db, mailer } = deps;
  const claimed = await db.transaction((tx) => claim(deps, tx, seen, stage));
  if (claimed === undefined) return;
  const { row, renewal, notice } = claimed;
  const scoped = workspaceDb(db, row.workspace_id);
  const facts = {
    name: row.name,
    stage: stage.name,
    termEnd: row.expires_at,
    renewal,
    deadline: chargeDeadline(row.expires_at),
    releaseAt: row.release_at,
  };
  await mailer.send(composeNotice(await getRegistrant(scoped), facts, notice.message_id));
  await noteSent(scoped, row.id, stage.name, notice.term_end, clock.now());
}

/** Undefined: there is nothing to tell, or another process tells it. */
async function claim({ clock, prices, registry }: NoticeDependencies, tx: Transaction, seen: EndingName, stage: Stage) {
  const now = clock.now();
  const scoped = workspaceDb(tx, seen.workspace_id);
  const row = await lockDomain(scoped, seen.id);
  if (row?.state !== 'active' || row.expires_at === null || row.deletion_sent_at !== null) return undefined;
  if (stageOf(row.expires_at, now)?.name !== stage.name) return undefined;
  const ending = { ...row, expires_at: row.expires_at };
  const renewal = renewalOf(prices, row, await findRenewalOrder(scoped, row.id), now);
  if (isSeenTo(renewal)) return undefined;
  if (stage.name === 'expired' && isToldBySuspension(registry, ending, now)) return undefined;
  const lease = { now, leaseUntil: new Date(now.getTime() + LEASE_MS) };
  const notice = await claimNotice(scoped, ending, stage.name, lease);
  if (notice === undefined) return undefined;
  if (notice.isNew) await appendEvent(tx, row.workspace_id, expiryEvent(ending, stage));
  return { row: ending, renewal, notice };
}

function expiryEvent({ name, expires_at, auto_renew }: EndingName, stage: Stage) {
  const type = stage.name === 'expired' ? ('domain.expired' as const) : ('domain.expiring' as const);
  return { type, data: { domain: name, stage: stage.name, expires_at: expires_at.toISOString(), auto_renew } };
}

/** It is bought, or auto-renew is about to charge for it: then it succeeds, or its owner is told why it has not. */
function isSeenTo({ term }: Renewal): boolean {
  return term === 'charging' || term === 'pending' || term === 'renewed';
}

/** See renewals/unpaid-names.ts: where it cannot be suspended nobody has told its owner. */
function isToldBySuspension(registry: NoticeDependencies['registry'], row: EndingName, now: Date): boolean {
  if (registry.habitsOf(row.name).autoRenewGraceDays === undefined) return false;
  const isTold = row.suspended_at !== null && row.unpaid_problem === null;
  return isTold || now < addDays(row.expires_at, SUSPENSION_DAYS);
}
