/**
 * Names at a registry that renews by itself, whose present term nobody has paid for. The registry takes its bill back for a name that is
 * deleted within its grace period, so:
 *
 *   paid term ends                      a third of the grace period is left           the grace period ends
 *   ──────┼──────────── suspended ────────────────┼──────────── deleted ─────────────────────┼──▶ billed: for the operator
 *         │ released by its owner: deleted at once
 *
 * Until it is deleted its owner may pay: the renewal costs nothing at the registry then, and the suspension is lifted. Each step is
 * written down before the registry is told, and taken again until it has succeeded: each hour, and more often in the last two days of the
 * grace period. What the registry refuses is kept for the operator.
 */

import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import type { Logger } from '../../kernel/log/log.ts';
import { createPeriodicWorker, UNTOLD_LOOK_MS } from '../../kernel/periodic/periodic-worker.ts';
import { appendEvent, type NewEvent } from '../events/index.ts';
import { applyHold } from '../holds/index.ts';
import type { Mailer } from '../mail/index.ts';
import { type DomainRow, lockDomain } from '../portfolio/index.ts';
import {
  type MutationOutcome,
  type Registry,
  RegistryBusy,
  type RegistryDomain,
  type RegistryMember,
  RegistryUnavailable,
} from '../registry/registry.ts';
import { addDays } from '../registry/term.ts';
import { inBackground } from '../registry/turns/command-turn.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { obstacleToDeletion } from './obstacle-to-deletion.ts';
import { findRenewalOrder } from './renewal-order-store.ts';
import { mailSuspension } from './suspension-mail.ts';
import { isLive } from './term.ts';
import { listPaidAgain, listUnpaid, saveUnpaid, type UnpaidChanges, type UnpaidRow } from './unpaid-store.ts';

export interface UnpaidNamesOptions {
  readonly db: Database;
  readonly registry: Pick<Registry, 'members' | 'info' | 'update' | 'delete'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly mailer: Mailer;
}

export interface UnpaidNames {
  /** Takes every step that is due, once. Any number of processes may do so at a time. Nothing where the registry does not renew by itself. */
  runDue(): Promise<void>;
  /** Does so now and every half a minute, at each registry by itself. */
  start(): void;
  /** Resolves when the steps under way have been taken. */
  stop(): Promise<void>;
}

/** Who pays for a suspended name has it back so soon. */
const INTERVAL_MS = 30_000;

const MIN_MARGIN_DAYS = 2;
/** Between two tries of a step that did not succeed. */
const RETRY_MS = 3_600_000;
/** The same in the last days of the grace period, after which the name is billed. */
const LATE_RETRY_MS = 600_000;
const LATE_DAYS = 2;
const BATCH_SIZE = 100;
/** After so many unanswered calls the registry counts as unreachable, and the run ends. */
const UNANSWERED_LIMIT = 3;
const LOCK = ['clientDeleteProhibited', 'clientUpdateProhibited', 'clientTransferProhibited'];
const LEAVING = ['pendingDelete', 'redemptionPeriod'];
const PROBLEM = {
  suspend: 'The registry did not suspend it',
  lift: 'It is paid for, and the registry did not lift its suspension',
  unlock: 'The registry did not lift its lock',
  delete: 'The registry did not delete it',
} as const;
const NOT_CONFIRMED = 'The registry has not confirmed yet that the name is suspended.';
const NOT_DELETED_YET = 'The registry has not confirmed yet that the name is deleted.';
const NOT_SHOWN = 'It was to be deleted, and the registry does not show it as ours.';

/** How long before the end of its grace period an unpaid name is deleted: enough to try again for some days. */
function marginDays(graceDays: number): number {
  return Math.max(MIN_MARGIN_DAYS, Math.ceil(graceDays / 3));
}

export function createUnpaidNames(options: UnpaidNamesOptions, intervalMs = INTERVAL_MS): UnpaidNames {
  const passes = options.registry.members.flatMap(({ habits, id, zones }) => {
    const { autoRenewGraceDays: graceDays } = habits;
    return graceDays === undefined ? [] : [new RegistryPass(options, { graceDays, id, zones })];
  });
  // One worker a registry: one that does not answer keeps nobody else's names waiting.
  const workers = passes.map((pass) =>
    createPeriodicWorker({
      name: `unpaid names at ${pass.registry}`,
      intervalMs,
      store: options.db,
      quietMs: UNTOLD_LOOK_MS,
      pass: (signal) => inBackground(() => pass.runDue(signal), { signal }),
      logger: options.logger,
    }),
  );
  return {
    async runDue() {
      await Promise.all(passes.map((pass) => pass.runDue()));
    },
    start() {
      for (const worker of workers) worker.start();
    },
    async stop() {
      await Promise.all(workers.map((worker) => worker.stop()));
    },
  };
}

interface AutoRenewing extends Pick<RegistryMember, 'id' | 'zones'> {
  readonly graceDays: number;
}

type Step = 'answered' | 'unanswered';

class RegistryPass {
  readonly registry: string;
  readonly #options: UnpaidNamesOptions;
  readonly #graceDays: number;
  readonly #zones: readonly string[] | undefined;

  constructor(options: UnpaidNamesOptions, { graceDays, id, zones }: AutoRenewing) {
    this.registry = id;
    this.#options = options;
    this.#graceDays = graceDays;
    this.#zones = zones;
  }

  async runDue(signal?: AbortSignal): Promise<void> {
    const { clock, db } = this.#options;
    const now = clock.now();
    const triedBefore = new Date(now.getTime() - RETRY_MS);
    const zones = this.#zones;
    const lapsed = {
      now,
      triedBefore,
      zones,
      deletesBefore: addDays(now, marginDays(this.#graceDays) - this.#graceDays),
      lastDays: {
        from: addDays(now, -this.#graceDays),
        to: addDays(now, LATE_DAYS - this.#graceDays),
        triedBefore: new Date(now.getTime() - LATE_RETRY_MS),
      },
    };
    const paid = await listPaidAgain(systemDb(db), { now, triedBefore, zones }, BATCH_SIZE);
    const unpaid = await listUnpaid(systemDb(db), lapsed, BATCH_SIZE);
    const steps = [
      ...paid.map((row) => () => this.#lift(row)),
      ...unpaid.map((row) => () => (this.#isToDelete(row, now) ? this.#delete(row) : this.#suspend(row))),
    ];
    let unanswered = 0;
    for (const take of steps) {
      if (signal?.aborted === true || unanswered === UNANSWERED_LIMIT) return;
      unanswered = (await take()) === 'unanswered' ? unanswered + 1 : 0;
    }
  }

  /** One that was not suspended in time, as the service was away, is suspended first: its owner is told before it goes. */
  #isToDelete(row: UnpaidRow, now: Date): boolean {
    const { billed_until: paidUntil, release_at: releaseAt, suspended_at: suspendedAt } = row;
    if (releaseAt !== null && releaseAt <= now) return true;
    return (
      suspendedAt !== null &&
      row.unpaid_problem !== NOT_CONFIRMED &&
      addDays(paidUntil, this.#graceDays - marginDays(this.#graceDays)) <= now
    );
  }

  /** Out of the DNS; its owner is told once the registry has done so. */
  async #suspend(row: UnpaidRow): Promise<Step> {
    const { clock, db, mailer } = this.#options;
    const now = clock.now();
    const noted = { suspended_at: row.suspended_at ?? now, unpaid_problem: NOT_CONFIRMED, unpaid_tried_at: now };
    if (!(await this.#note(row, noted))) return 'answered';
    const outcome = await applyHold(this.#options, row);
    if (outcome.kind === 'busy') {
      await saveUnpaid(workspaceDb(db, row.workspace_id), row.id, { unpaid_tried_at: null });
      return 'answered';
    }
    if (outcome.kind !== 'completed' && outcome.kind !== 'pending') return this.#keep(row, 'suspend', outcome);
    const earliest = addDays(row.billed_until, this.#graceDays - marginDays(this.#graceDays));
    const deletedAt = new Date(Math.max(earliest.getTime(), now.getTime() + RETRY_MS));
    try {
      await mailSuspension(db, mailer, row, deletedAt);
    } catch (error) {
      return this.#keepProblem(row, `The name is suspended, and its owner was not told: ${String(error)}`);
    }
    const told = {
      reason: 'unpaid',
      deleted_after: deletedAt.toISOString(),
      paid_until: row.billed_until.toISOString(),
    };
    await this.#note(row, { unpaid_problem: null, synced_at: null }, { type: 'domain.suspended', data: told });
    return 'answered';
  }

  /** Paid for by now: back in the DNS, unless something else keeps it out. */
  async #lift(row: DomainRow): Promise<Step> {
    const { clock, db } = this.#options;
    const scoped = workspaceDb(db, row.workspace_id);
    await saveUnpaid(scoped, row.id, { suspended_at: null, hold_look_at: clock.now() });
    const outcome = await applyHold(this.#options, row);
    // Who tells the registry at this moment sees to what is wanted by now.
    if (outcome.kind === 'busy') return 'answered';
    if (outcome.kind !== 'completed' && outcome.kind !== 'pending') return this.#keep(row, 'lift', outcome);
    await saveUnpaid(scoped, row.id, { unpaid_problem: null, unpaid_tried_at: null });
    return 'answered';
  }

  async #delete(row: UnpaidRow): Promise<Step> {
    const { clock, logger, registry } = this.#options;
    const info = await this.#look(row);
    if (info instanceof RegistryBusy) return 'unanswered';
    if (info instanceof RegistryUnavailable) {
      return this.#keep(row, 'delete', { kind: 'unknown', reason: info.message });
    }
    // Not ours any more: the order worker's sweep sees to it.
    if (info?.isOurs !== true) return this.#keepProblem(row, NOT_SHOWN, { synced_at: null });
    // By a deletion whose answer was lost, or by hand.
    if (isLeaving(info)) return this.#recordDeletion(row);
    const obstacle = obstacleToDeletion(row, info, { graceDays: this.#graceDays, now: clock.now() });
    if (obstacle !== undefined) return this.#keepProblem(row, obstacle);
    const sent = { deletion_sent_at: clock.now(), unpaid_tried_at: clock.now(), unpaid_problem: NOT_DELETED_YET };
    if (!(await this.#note(row, sent))) return 'answered';
    if (info.statuses.some((status) => LOCK.includes(status))) {
      const unlocked = await registry.update({ name: row.name, transactionId: mintId('upd'), locked: false });
      if (unlocked.kind !== 'completed') return this.#keep(row, 'unlock', unlocked, { deletion_sent_at: null });
    }
    const outcome = await registry.delete({ name: row.name, transactionId: mintId('del') });
    if (outcome.kind === 'unknown') return this.#keep(row, 'delete', outcome);
    if (outcome.kind === 'rejected') {
      // Its owner may have had it deleted in the meantime.
      const left = await this.#look(row);
      if (isLeaving(left)) return this.#recordDeletion(row);
      return this.#keep(row, 'delete', outcome, left instanceof RegistryUnavailable ? {} : { deletion_sent_at: null });
    }
    logger.info({ domain: row.name }, 'a name of which nobody has paid for the present term was deleted');
    return this.#recordDeletion(row);
  }

  async #recordDeletion(row: UnpaidRow): Promise<Step> {
    const { clock, db } = this.#options;
    await saveUnpaid(workspaceDb(db, row.workspace_id), row.id, {
      auto_renew: false,
      release_at: row.release_at ?? clock.now(),
      renewal_state: 'off',
      suspended_at: null,
      unpaid_problem: null,
      unpaid_tried_at: clock.now(),
      // Read with the next sweep of the order worker, which retires it where it is gone.
      synced_at: null,
      missing_seen_at: null,
    });
    return 'answered';
  }

  /** The error where the registry does not answer. */
  async #look({ name }: UnpaidRow): Promise<RegistryDomain | undefined | RegistryUnavailable> {
    try {
      return await this.#options.registry.info(name);
    } catch (error) {
      if (error instanceof RegistryUnavailable) return error;
      throw error;
    }
  }

  /**
   * Saves these columns where the name is unpaid still, and nobody is paying or deleting it at this moment. Where it notes a try: unless another
   * process has noted one.
   */
  async #note(row: UnpaidRow, changes: UnpaidChanges, event?: NewEvent): Promise<boolean> {
    const { clock, db } = this.#options;
    return db.transaction(async (tx) => {
      const scoped = workspaceDb(tx, row.workspace_id);
      const held = await lockDomain(scoped, row.id);
      if (held?.state !== 'active' || held.billed_until?.getTime() !== row.billed_until.getTime()) return false;
      if (held.release_at?.getTime() !== row.release_at?.getTime() || held.deletion_look_at !== null) return false;
      const isTried = held.unpaid_tried_at?.getTime() !== row.unpaid_tried_at?.getTime();
      if (changes.unpaid_tried_at !== undefined && isTried) return false;
      if (
        changes.deletion_sent_at !== undefined &&
        !this.#isToDelete({ ...held, billed_until: row.billed_until }, clock.now())
      )
        return false;
      const order = await findRenewalOrder(scoped, row.id);
      if (order !== undefined && isLive(order.state)) return false;
      await saveUnpaid(scoped, row.id, changes);
      if (event !== undefined) {
        await appendEvent(tx, row.workspace_id, { ...event, data: { domain: row.name, ...event.data } });
      }
      return true;
    });
  }

  async #keep(
    row: DomainRow,
    step: keyof typeof PROBLEM,
    outcome: MutationOutcome,
    changes: UnpaidChanges = {},
  ): Promise<Step> {
    const isUnknown = outcome.kind === 'unknown';
    const reason = 'reason' in outcome ? outcome.reason : outcome.kind;
    await this.#keepProblem(row, `${PROBLEM[step]}: ${reason}`, changes);
    return isUnknown ? 'unanswered' : 'answered';
  }

  async #keepProblem(row: DomainRow, problem: string, changes: UnpaidChanges = {}): Promise<Step> {
    const { clock, db, logger } = this.#options;
    if (row.unpaid_problem !== problem)
      logger.warn({ domain: row.name, problem }, 'an unpaid name stays as it is for now');
    const kept = { ...changes, unpaid_problem: problem, unpaid_tried_at: clock.now() };
    await saveUnpaid(workspaceDb(db, row.workspace_id), row.id, kept);
    return 'answered';
  }
}

function isLeaving(info: RegistryDomain | undefined | RegistryUnavailable): boolean {
  if (info === undefined || info instanceof RegistryUnavailable) return false;
  return info.isOurs && info.statuses.some((status) => LEAVING.includes(status));
}
