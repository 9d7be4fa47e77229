/**
 * Names whose terms end, wallets to pay for them, and a registry that a test owns. Everything else is real: rows, locks,
 * ledger, orders and the scheduler.
 */
import { createSecretKey, randomBytes } from 'node:crypto';
import { createBackgroundWork } from '../../src/domains/background-work.ts';
import {
  createOrderWorker,
  type OrderDependencies,
  type OrderWorker,
  placeRenewal,
} from '../../src/domains/orders/index.ts';
import { type DomainRow, lockDomain } from '../../src/domains/portfolio/index.ts';
import {
  createRenewalWorker,
  findRenewalOrder,
  type PlacedRenewal,
  type Renewal,
  type RenewalRequest,
  type RenewalWorker,
  renewalOf,
} from '../../src/domains/renewals/index.ts';
import { credit, openWallet, readWallet } from '../../src/domains/wallet/index.ts';
import { unconfiguredPayments } from '../../src/domains/wallet/payments/unconfigured-payments.ts';
import { systemDb, workspaceDb } from '../../src/domains/workspace-scope.ts';
import { createManualClock, type ManualClock } from '../../src/kernel/clock/clock.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { mintId } from '../../src/kernel/ids/ids.ts';
import { createVault } from '../../src/kernel/vault/vault.ts';
import { standardPrices } from './prices.ts';
import { type RegistryName, TermRegistry } from './term-registry.ts';
import { openTestLogger } from './test-log.ts';

export interface NameOptions {
  readonly expiresAt: Date;
  readonly autoRenew?: boolean;
  readonly tld?: string;
}

export interface WorldName {
  readonly workspaceId: string;
  readonly domainId: string;
  readonly name: string;
  readonly atRegistry: RegistryName;
}

/** A charge that was made: its order and its hold are committed. */
export interface Charge extends RenewalRequest {
  readonly orderId: string;
  readonly at: Date;
  /** The expiry at the registry by then. */
  readonly atRegistry: Date | undefined;
}

export class RenewalWorld {
  readonly clock: ManualClock;
  readonly registry = new TermRegistry();
  readonly charges: Charge[] = [];
  /** What happens just before an order is placed. */
  onPlacing: (() => Promise<unknown>) | undefined;
  readonly #db: Database;
  readonly #services: OrderDependencies;
  readonly #orders: OrderWorker;
  #hasOpenOrders = false;

  constructor(db: Database, start: Date) {
    this.#db = db;
    this.clock = createManualClock(start);
    const logger = openTestLogger();
    this.#services = {
      db,
      clock: this.clock,
      vault: createVault([createSecretKey(randomBytes(32))]),
      registry: this.registry.asPort(),
      prices: standardPrices,
      payments: unconfiguredPayments,
      logger,
      nameservers: [],
      background: createBackgroundWork(logger),
    };
    this.#orders = createOrderWorker(this.#services);
  }

  /** A scheduler as a process that has just started has it. */
  startWorker(options: { readonly batchSize?: number } = {}): RenewalWorker {
    return createRenewalWorker({
      ...this.#services,
      placeRenewal: (asked) => this.#place(asked),
      ...options,
    });
  }

  async addWorkspace(cents: number): Promise<string> {
    const workspaceId = mintId('wsp');
    await this.#db.transaction(async (tx) => {
      await systemDb(tx).insertInto('workspaces').values({ id: workspaceId, name: 'Renewing' }).execute();
      await openWallet(tx, workspaceId);
    });
    if (cents > 0) await this.topUp(workspaceId, cents);
    return workspaceId;
  }

  async topUp(workspaceId: string, amountCents: number): Promise<void> {
    const reference = `test:${mintId('pay')}`;
    const booking = { workspaceId, source: 'operator', amountCents, reference, description: 'test' } as const;
    await this.#db.transaction((tx) => credit(tx, booking));
  }

  async addName(workspaceId: string, { expiresAt, autoRenew = true, tld = 'com' }: NameOptions): Promise<WorldName> {
    const domainId = mintId('dom');
    const name = `${domainId.replace('_', '-')}.${tld}`;
    const atRegistry: RegistryName = { expiresAt, statuses: ['ok'], refusals: 0 };
    this.registry.names.set(name, atRegistry);
    await workspaceDb(this.#db, workspaceId)
      .insertInto('domains')
      .values({
        id: domainId,
        name,
        state: 'active',
        added_via: 'registration',
        synced_at: this.clock.now(),
        expires_at: expiresAt,
        auto_renew: autoRenew,
        billed_until: expiresAt,
      })
      .execute();
    return { workspaceId, domainId, name, atRegistry };
  }

  async rowOf({ workspaceId, domainId }: WorldName): Promise<DomainRow> {
    const rows = workspaceDb(this.#db, workspaceId).selectFrom('domains').selectAll();
    return rows.where('id', '=', domainId).executeTakeFirstOrThrow();
  }

  /** What the API says of it. */
  async renewalOf(name: WorldName): Promise<Renewal> {
    const order = await findRenewalOrder(workspaceDb(this.#db, name.workspaceId), name.domainId);
    return renewalOf(standardPrices, await this.rowOf(name), order, this.clock.now());
  }

  async availableCents(workspaceId: string): Promise<number> {
    return (await readWallet(this.#db, workspaceId)).availableCents;
  }

  /** As PATCH /domains/{name}/settings does it. Answers whether a renewal of the current term stood by then. */
  async setAutoRenew({ workspaceId, domainId }: WorldName, isOn: boolean): Promise<boolean> {
    return this.#db.transaction(async (tx) => {
      const db = workspaceDb(tx, workspaceId);
      const row = await lockDomain(db, domainId);
      const order = await findRenewalOrder(db, domainId);
      await db.updateTable('domains').set({ auto_renew: isOn }).where('id', '=', domainId).execute();
      const isOfTerm = order?.from_expires_at?.getTime() === row?.expires_at?.getTime();
      return order !== undefined && order.state !== 'failed' && isOfTerm;
    });
  }

  chargesOf({ domainId }: WorldName): Charge[] {
    return this.charges.filter((charge) => charge.domainId === domainId);
  }

  /** The registry completes what it has taken, and the orders hear of it. */
  async settleOrders(): Promise<void> {
    if (this.registry.isAway || !this.#hasOpenOrders) return;
    this.registry.completeAll(this.clock.now());
    await this.#orders.sweep();
    const { rowCount } = await this.#db.query({
      text: `select from domains.orders where state not in ('completed', 'failed') limit 1`,
      values: [],
    });
    this.#hasOpenOrders = rowCount > 0;
  }

  /** These names are not examined any more. */
  async retire(): Promise<void> {
    const names = ['', ...this.registry.names.keys()];
    await systemDb(this.#db).updateTable('domains').set({ state: 'gone' }).where('name', 'in', names).execute();
  }

  async #place(asked: RenewalRequest): Promise<PlacedRenewal> {
    await this.onPlacing?.();
    const at = this.clock.now();
    const atRegistry = this.registry.names.get(asked.name)?.expiresAt;
    const placed = await placeRenewal(this.#services, asked);
    this.#hasOpenOrders = true;
    if ('orderId' in placed) this.charges.push({ ...asked, orderId: placed.orderId, at, atRegistry });
    return placed;
  }
}
