/**
 * Names whose terms end, wallets to pay for them, a registry that a test owns, and orders reduced to what the scheduler of
 * renewals can see of them. Everything else (rows, locks, ledger, unique indexes) is real.
 */

import { type DomainRow, lockDomain, recordInfo } from '../../src/domains/portfolio/index.ts';
import { type RegistryDomain, RegistryUnavailable } from '../../src/domains/registry/registry.ts';
import {
  type AskedRenewal,
  addYears,
  createRenewalKeeper,
  findRenewalOrder,
  type PlacedRenewal,
  type Renewal,
  type RenewalKeeper,
  renewalOf,
} from '../../src/domains/renewals/index.ts';
import { capture, credit, hold, openWallet, readWallet, release } from '../../src/domains/wallet/index.ts';
import { systemDb, workspaceDb } from '../../src/domains/workspace-scope.ts';
import { createManualClock, type ManualClock } from '../../src/kernel/clock/clock.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { ApiError } from '../../src/kernel/http/errors.ts';
import { mintId } from '../../src/kernel/ids/ids.ts';
import { createLogger } from '../../src/kernel/log/log.ts';

export interface NameOptions {
  readonly expiresAt: Date;
  readonly autoRenew?: boolean;
  readonly tld?: string;
}

/** A name at the model registry. Tests write to it. */
export interface RegistryName {
  expiresAt: Date;
  statuses: string[];
  /** Renewals that will be refused. */
  refusals: number;
}

export interface WorldName {
  readonly workspaceId: string;
  readonly domainId: string;
  readonly name: string;
  readonly atRegistry: RegistryName;
}

/** A charge that was made: its order and hold are committed. */
export interface Charge extends AskedRenewal {
  readonly orderId: string;
  readonly at: Date;
}

export class RenewalWorld {
  readonly db: Database;
  readonly clock: ManualClock;
  readonly charges: Charge[] = [];
  readonly #registry = new Map<string, RegistryName>();
  #unsettled = 0;
  /** Nothing is answered while true. */
  isRegistryAway = false;
  /** Names that are never answered for. */
  readonly silent = new Set<string>();
  /** What happens in between: while the registry is asked, and just before an order is placed. */
  onAsked: (() => Promise<unknown>) | undefined;
  onPlacing: (() => Promise<unknown>) | undefined;
  /** How often the registry was asked about a name. */
  asked = 0;

  constructor(db: Database, start: Date) {
    this.db = db;
    this.clock = createManualClock(start);
  }

  /** A scheduler as a process that has just started has it. */
  startKeeper(options: { readonly batchSize?: number } = {}): RenewalKeeper {
    const { db, clock } = this;
    const registry = { info: (name: string) => this.#info(name) };
    const logger = createLogger({ logLevel: 'silent' });
    return createRenewalKeeper({
      db,
      clock,
      registry,
      logger,
      placeRenewal: (asked) => this.#place(asked),
      ...options,
    });
  }

  async addWorkspace(cents: number): Promise<string> {
    const workspaceId = mintId('wsp');
    await this.db.transaction(async (tx) => {
      await systemDb(tx).insertInto('workspaces').values({ id: workspaceId, name: 'Renewing' }).execute();
      await openWallet(tx, workspaceId);
    });
    if (cents > 0) await this.topUp(workspaceId, cents);
    return workspaceId;
  }

  async topUp(workspaceId: string, amountCents: number): Promise<void> {
    const reference = `test:${mintId('pay')}`;
    const booking = { workspaceId, source: 'operator', amountCents, reference, description: 'test' } as const;
    await this.db.transaction((tx) => credit(tx, booking));
  }

  async addName(workspaceId: string, { expiresAt, autoRenew = true, tld = 'com' }: NameOptions): Promise<WorldName> {
    const domainId = mintId('dom');
    const name = `${domainId.replace('_', '-')}.${tld}`;
    const atRegistry: RegistryName = { expiresAt, statuses: ['ok'], refusals: 0 };
    this.#registry.set(name, atRegistry);
    await workspaceDb(this.db, workspaceId)
      .insertInto('domains')
      .values({
        id: domainId,
        name,
        state: 'active',
        added_via: 'registration',
        snapshot: null,
        synced_at: null,
        expires_at: expiresAt,
        auto_renew: autoRenew,
        release_at: null,
        billed_until: expiresAt,
        renewal_reason: null,
        renewal_shortfall_cents: null,
        gone_at: null,
      })
      .execute();
    return { workspaceId, domainId, name, atRegistry };
  }

  async rowOf({ workspaceId, domainId }: WorldName): Promise<DomainRow> {
    const rows = workspaceDb(this.db, workspaceId).selectFrom('domains').selectAll();
    return rows.where('id', '=', domainId).executeTakeFirstOrThrow();
  }

  /** What the API says of it. */
  async renewalOf(name: WorldName): Promise<Renewal> {
    const order = await findRenewalOrder(workspaceDb(this.db, name.workspaceId), name.domainId);
    return renewalOf(await this.rowOf(name), order, this.clock.now());
  }

  async availableCents(workspaceId: string): Promise<number> {
    return (await readWallet(this.db, workspaceId)).availableCents;
  }

  /** As PATCH /domains/{name}/settings does it. Answers whether a renewal of the current term stood by then. */
  async setAutoRenew({ workspaceId, domainId }: WorldName, isOn: boolean): Promise<boolean> {
    return this.db.transaction(async (tx) => {
      const db = workspaceDb(tx, workspaceId);
      const row = await lockDomain(db, domainId);
      const order = await findRenewalOrder(db, domainId);
      await db.updateTable('domains').set({ auto_renew: isOn }).where('id', '=', domainId).execute();
      return (
        order !== undefined &&
        order.state !== 'failed' &&
        order.from_expires_at?.getTime() === row?.expires_at?.getTime()
      );
    });
  }

  chargesOf({ domainId }: WorldName): Charge[] {
    return this.charges.filter((charge) => charge.domainId === domainId);
  }

  /** Brings every order to its end, as the orders' worker does while the registry answers. */
  async settleOrders(): Promise<void> {
    if (this.isRegistryAway || this.#unsettled === 0) return;
    const orders = await systemDb(this.db)
      .selectFrom('orders')
      .selectAll()
      .where('state', '=', 'submitted')
      .where('name', 'in', ['', ...this.#registry.keys()])
      .execute();
    for (const { workspace_id: workspaceId, id: orderId, domain_id: domainId, name, ...order } of orders) {
      const atRegistry = this.#registry.get(name);
      if (atRegistry === undefined || order.from_expires_at === null) throw new Error(`no such name: ${name}`);
      const isRefused = atRegistry.refusals > 0 || atRegistry.expiresAt.getTime() !== order.from_expires_at.getTime();
      if (isRefused) atRegistry.refusals = Math.max(0, atRegistry.refusals - 1);
      else atRegistry.expiresAt = addYears(atRegistry.expiresAt, order.years);
      const info = await this.#info(name);
      const now = this.clock.now();
      this.#unsettled -= 1;
      await this.db.transaction(async (tx) => {
        const db = workspaceDb(tx, workspaceId);
        const end = isRefused ? release : capture;
        await end(tx, { workspaceId, orderId });
        const error_message = isRefused ? 'Not today.' : null;
        const state = isRefused ? 'failed' : 'completed';
        await db.updateTable('orders').set({ state, error_message, ended_at: now }).where('id', '=', orderId).execute();
        if (isRefused) return;
        await recordInfo(tx, { workspaceId, domainId, name }, info, now);
        const billed = { billed_until: atRegistry.expiresAt, renewal_shortfall_cents: null };
        await db.updateTable('domains').set(billed).where('id', '=', domainId).execute();
      });
    }
  }

  /** Nobody looks at these names any more. */
  async retire(): Promise<void> {
    const names = ['', ...this.#registry.keys()];
    await systemDb(this.db).updateTable('domains').set({ state: 'gone' }).where('name', 'in', names).execute();
  }

  async #info(name: string): Promise<RegistryDomain> {
    this.asked += 1;
    await this.onAsked?.();
    if (this.isRegistryAway || this.silent.has(name)) throw new RegistryUnavailable('no answer');
    const found = this.#registry.get(name);
    if (found === undefined) throw new Error(`no such name: ${name}`);
    return {
      name,
      registryId: name,
      isOurs: true,
      statuses: found.statuses,
      createdAt: '2020-01-01T00:00:00.000Z',
      updatedAt: null,
      expiresAt: found.expiresAt.toISOString(),
      nameservers: [],
      dsRecords: [],
      isPrivate: true,
    };
  }

  async #place(asked: AskedRenewal): Promise<PlacedRenewal> {
    const { workspaceId, domainId, name, origin, years, priceCents, fromExpiresAt, isStillDue } = asked;
    const orderId = mintId('ord');
    await this.onPlacing?.();
    try {
      return await this.db.transaction(async (tx): Promise<PlacedRenewal> => {
        const db = workspaceDb(tx, workspaceId);
        const row = await lockDomain(db, domainId);
        if (row === undefined || !isStillDue(row)) return { refused: 'not_due' };
        const { rowCount } = await tx.query({
          text: `insert into domains.orders (workspace_id, id, kind, origin, domain_id, name, years, amount_cents,
              from_expires_at, pays_with, state)
            values ($1, $2, 'renewal', $3, $4, $5, $6, $7, $8, 'wallet', 'submitted') on conflict do nothing`,
          values: [workspaceId, orderId, origin, domainId, name, years, priceCents, fromExpiresAt],
        });
        if (rowCount === 0) return { refused: 'in_progress' };
        await hold(tx, { workspaceId, orderId, amountCents: priceCents });
        const at = this.clock.now();
        tx.afterCommit(() => {
          this.charges.push({ ...asked, orderId, at });
          this.#unsettled += 1;
        });
        return { orderId, state: 'submitted' };
      });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'insufficient_balance') throw error;
      const { required, available } = error.detail.details ?? {};
      return { refused: 'insufficient_balance', requiredCents: Number(required), availableCents: Number(available) };
    }
  }
}
