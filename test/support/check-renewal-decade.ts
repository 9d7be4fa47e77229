/** Ten simulated years (four in the gate) of random portfolios, wallets, toggles, clocks and registries, and what holds in all of them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { addYears } from '../../src/domains/registry/term.ts';
import type { RenewalWorker } from '../../src/domains/renewals/index.ts';
import { renewalOffer } from '../../src/domains/renewals/renewal-offer.ts';
import type { Share } from '../conformance/take-turns.ts';
import { openTestDatabase, type TestDatabase } from './database.ts';
import { standardPrices } from './prices.ts';
import { anyEvent, type Event, type NamePlan, plainEvent, portfolio, type Step, stepsOf } from './renewal-plans.ts';
import { type Charge, RenewalWorld, type WorldName } from './renewal-world.ts';

export async function testRenewalDecade(share: Share): Promise<void> {
  function priceOf(name: string): number | undefined {
    return renewalOffer(standardPrices, { name, renewal_fee: null }, new Date(0))?.priceCents;
  }

  const DAY_MS = 86_400_000;
  const START = new Date('2027-01-10T00:00:00.000Z');
  const YEARS = share === 'all' ? 10 : 4;
  const END = addYears(START, YEARS);
  const RICH_CENTS = 100_000_000;

  let database: TestDatabase;
  before(async () => {
    database = await openTestDatabase();
  });
  after(() => database.close());

  /** A name's row before a look, and whether an order stands for its term, or was refused. */
  interface Seen {
    readonly id: string;
    readonly workspace_id: string;
    readonly expires_at: Date;
    readonly auto_renew: boolean;
    readonly available_cents: number;
    readonly is_sold: boolean;
    readonly is_refused: boolean;
  }

  class Decade {
    readonly world = new RenewalWorld(database.db, START);
    readonly names: WorldName[] = [];
    /** Terms that were charged for, and those that ended unpaid. */
    readonly tally = { charged: 0, lapsed: 0 };
    readonly #workspaces: string[] = [];
    readonly #credits = new Map<string, number>();
    readonly #years = new Map<string, number>();
    readonly #firstExpiry = new Map<string, Date>();
    #workers: [RenewalWorker, RenewalWorker] = [this.world.startWorker(), this.world.startWorker()];

    async begin(plans: readonly NamePlan[], cents: number): Promise<void> {
      for (let count = 0; count < 3; count += 1) {
        const workspaceId = await this.world.addWorkspace(cents);
        this.#workspaces.push(workspaceId);
        this.#credits.set(workspaceId, cents);
      }
      for (const { day, minute, tld, workspace, autoRenew } of plans) {
        const expiresAt = new Date(START.getTime() + day * DAY_MS + minute * 60_000);
        const added = await this.world.addName(pick(this.#workspaces, workspace), { expiresAt, autoRenew, tld });
        this.names.push(added);
        this.#firstExpiry.set(added.domainId, expiresAt);
      }
    }

    async take({ hours, event }: Step): Promise<void> {
      const { world } = this;
      world.clock.advance(hours * 3_600_000);
      world.registry.isAway = event.kind === 'registry away';
      await this.#apply(event);
      await this.#look(event);
      if (event.kind !== 'orders wait') await world.settleOrders();
    }

    /** Owners of names that have expired come back and renew them by hand, so that the portfolio lasts. */
    async rescueExpired(): Promise<void> {
      for (const lapsed of this.names) {
        if (lapsed.atRegistry.expiresAt.getTime() > this.world.clock.now().getTime() - 5 * DAY_MS) continue;
        this.tally.lapsed += 1;
        this.#renewElsewhere(lapsed);
        await database.db.query({
          text: 'update domains.domains set expires_at = $1 where id = $2',
          values: [lapsed.atRegistry.expiresAt, lapsed.domainId],
        });
      }
    }

    async #apply(event: Event): Promise<void> {
      const { world, names } = this;
      switch (event.kind) {
        case 'answer lost':
          world.registry.answersToLose = 1;
          return;
        case 'restart':
          this.#workers = [world.startWorker({ batchSize: 2 }), world.startWorker()];
          return;
        case 'top up': {
          const workspaceId = pick(this.#workspaces, event.workspace);
          if (event.cents === 0) return;
          await world.topUp(workspaceId, event.cents);
          this.#credits.set(workspaceId, (this.#credits.get(workspaceId) ?? 0) + event.cents);
          return;
        }
        case 'toggle': {
          const toggled = pick(names, event.name);
          await world.setAutoRenew(toggled, !(await world.rowOf(toggled)).auto_renew);
          return;
        }
        case 'refuse':
          pick(names, event.name).atRegistry.refusals = event.times;
          return;
        case 'renewed elsewhere':
          this.#renewElsewhere(pick(names, event.name));
          return;
        case 'clock steps':
          world.clock.advance(event.days * DAY_MS);
          return;
        default:
      }
    }

    async #look(event: Event): Promise<void> {
      const { world } = this;
      const before = await this.#observe();
      const first = world.charges.length;
      const raced = event.kind === 'toggle at once' ? this.#pickRaced(before, event.name) : undefined;
      const wasOn = before.get(raced?.domainId ?? '')?.auto_renew === true;
      const workers = event.kind === 'two workers' ? this.#workers : this.#workers.slice(0, 1);
      const [stood] = await Promise.all([
        raced === undefined ? undefined : world.setAutoRenew(raced, !wasOn),
        ...workers.map((worker) => worker.runDue()),
      ]);
      const made = world.charges.slice(first);
      this.tally.charged += made.length;
      for (const charge of made) {
        const isRaced = charge.domainId === raced?.domainId;
        this.#checkCharge(charge, before.get(charge.domainId), isRaced);
        if (isRaced && wasOn) assert.ok(stood, 'it was charged after auto-renew was turned off');
      }
      if (raced === undefined) await this.#checkNobodyForgotten(before, made);
    }

    /** One that is about to be charged for, if there is any: else there is no race. */
    #pickRaced(before: ReadonlyMap<string, Seen>, index: number): WorldName {
      const due = this.names.filter((each) => this.#isDue(before.get(each.domainId), each));
      return pick(due.length > 0 ? due : this.names, index);
    }

    #isDue(row: Seen | undefined, { atRegistry }: WorldName): row is Seen {
      if (row === undefined || !row.auto_renew || row.is_sold || row.is_refused || this.world.registry.isAway)
        return false;
      const now = this.world.clock.now().getTime();
      const expiry = row.expires_at.getTime();
      const isInTime = now >= expiry - 30 * DAY_MS && now < expiry - 10 * DAY_MS;
      return isInTime && atRegistry.expiresAt.getTime() === expiry;
    }

    #checkCharge(charge: Charge, row: Seen | undefined, isRaced: boolean): void {
      const at = charge.at.getTime();
      const expiry = charge.fromExpiresAt.getTime();
      assert.ok(at >= expiry - 30 * DAY_MS, 'charged earlier than 30 days before expiry');
      assert.ok(at < expiry - 10 * DAY_MS, 'charged later than 10 days before expiry');
      assert.ok(row?.auto_renew || isRaced, 'charged although auto-renew was off');
      assert.equal(charge.atRegistry?.getTime(), expiry, 'charged for a term that the registry does not have');
      const isSold = row?.is_sold === true && row.expires_at.getTime() === expiry;
      assert.ok(!isSold, 'a term was charged for twice');
      assert.equal(charge.priceCents, priceOf(charge.name));
    }

    /** Whatever was due and could be paid is charged for, at the first look. */
    async #checkNobodyForgotten(before: ReadonlyMap<string, Seen>, made: readonly Charge[]): Promise<void> {
      const due = this.names.filter((each) => this.#isDue(before.get(each.domainId), each));
      if (due.length === 0) return;
      const afterwards = await this.#observe();
      for (const { domainId, name } of due) {
        const isAffordable = (afterwards.get(domainId)?.available_cents ?? 0) >= (priceOf(name) ?? 0);
        const isCharged = made.some((charge) => charge.domainId === domainId);
        assert.ok(isCharged || !isAffordable, 'a term that was due was not charged for');
      }
    }

    /** After the last order has ended: the money, the terms and the registry tell the same story. */
    async checkBooks(): Promise<void> {
      const { world } = this;
      world.registry.isAway = false;
      await world.settleOrders();
      const { rows: orders } = await database.db.query<{
        domain_id: string;
        years: number;
        amount_cents: number;
        from: Date;
      }>({
        text: `select domain_id, years, amount_cents, from_expires_at as "from" from domains.orders
        where workspace_id = any($1) and state = 'completed'`,
        values: [this.#workspaces],
      });
      assert.equal(
        new Set(orders.map(({ domain_id, from }) => `${domain_id} ${from.toISOString()}`)).size,
        orders.length,
      );
      for (const { domainId, atRegistry } of this.names) {
        const bought = orders.filter((order) => order.domain_id === domainId);
        const years = bought.reduce((sum, order) => sum + order.years, this.#years.get(domainId) ?? 0);
        const first = this.#firstExpiry.get(domainId) ?? START;
        assert.equal(
          atRegistry.expiresAt.getUTCFullYear(),
          first.getUTCFullYear() + years,
          'a term moved without a charge',
        );
      }
      for (const workspaceId of this.#workspaces) {
        const own = new Set(
          this.names.filter((each) => each.workspaceId === workspaceId).map(({ domainId }) => domainId),
        );
        const spent = orders.reduce((sum, order) => sum + (own.has(order.domain_id) ? order.amount_cents : 0), 0);
        assert.equal(await world.availableCents(workspaceId), (this.#credits.get(workspaceId) ?? 0) - spent);
      }
      await world.retire();
    }

    #renewElsewhere({ domainId, atRegistry }: WorldName): void {
      atRegistry.expiresAt = addYears(atRegistry.expiresAt, 1);
      this.#years.set(domainId, (this.#years.get(domainId) ?? 0) + 1);
    }

    async #observe(): Promise<Map<string, Seen>> {
      const { rows } = await database.db.query<Seen>({
        text: `select d.id, d.workspace_id, d.expires_at, d.auto_renew, w.available_cents,
          exists (select from domains.orders o where o.workspace_id = d.workspace_id and o.domain_id = d.id
            and (o.state not in ('completed', 'failed') or (o.state = 'completed' and o.from_expires_at = d.expires_at))) as is_sold,
          exists (select from domains.orders o where o.workspace_id = d.workspace_id and o.domain_id = d.id
            and o.state = 'failed' and o.from_expires_at = d.expires_at) as is_refused
        from domains.domains d join domains.wallets w on w.workspace_id = d.workspace_id
        where d.workspace_id = any($1)`,
        values: [this.#workspaces],
      });
      return new Map(rows.map((row) => [row.id, row]));
    }
  }

  function pick<Item>(items: readonly Item[], index: number): Item {
    const item = items[index % items.length];
    if (item === undefined) throw new Error('there is none');
    return item;
  }

  test(`in any ${YEARS} years a term is charged for once, in its time, while it is wished and paid for`, async () => {
    const total = { charged: 0, lapsed: 0 };
    const property = fc.asyncProperty(portfolio, fc.nat(20_000), stepsOf(anyEvent), async (plans, cents, steps) => {
      const decade = new Decade();
      await decade.begin(plans, cents);
      for (let count = 0; decade.world.clock.now() < END; count += 1) {
        await decade.take(pick(steps, count));
        await decade.rescueExpired();
      }
      await decade.checkBooks();
      total.charged += decade.tally.charged;
      total.lapsed += decade.tally.lapsed;
    });
    await fc.assert(property, { numRuns: share === 'all' ? 3 : 1, endOnFailure: true });
    assert.ok(
      total.charged > 0 && (share === 'some' || total.lapsed > 0),
      `what was to be tried did not come up: ${JSON.stringify(total)}`,
    );
  });

  test(`in any ${YEARS} years a name whose auto-renew is on and paid for never expires`, async () => {
    const property = fc.asyncProperty(portfolio, stepsOf(plainEvent), async (plans, steps) => {
      const decade = new Decade();
      await decade.begin(
        plans.map((plan) => ({ ...plan, day: plan.day + 30, autoRenew: true })),
        RICH_CENTS,
      );
      let wasDisturbed = false;
      for (let count = 0; decade.world.clock.now() < END; count += 1) {
        const step = pick(steps, count);
        const isDisturbed = step.event.kind === 'registry away' || step.event.kind === 'orders wait';
        // With two in a row the registry might be away for as long as the charge has time.
        await decade.take(isDisturbed && wasDisturbed ? { ...step, event: { kind: 'nothing' } } : step);
        wasDisturbed = isDisturbed && !wasDisturbed;
        const now = decade.world.clock.now();
        for (const each of decade.names) assert.ok(each.atRegistry.expiresAt > now, `${each.name} expired`);
      }
      await decade.checkBooks();
      // Terms are of a year, or of two.
      assert.ok(decade.names.every((each) => decade.world.chargesOf(each).length >= (YEARS - 2) / 2));
    });
    await fc.assert(property, { numRuns: share === 'all' ? 2 : 1, endOnFailure: true });
  });
}
