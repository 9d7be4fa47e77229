/** What tests of the simulated registry keep needing. */
import assert from 'node:assert/strict';
import {
  type CreditOf,
  createRegistryCore,
  type MessageHabits,
  type PollMessage,
  type PriceList,
  type RegistryCore,
  type RegistryDelays,
  type Reply,
  type Session,
  type SpecialNames,
} from '../../src/domains/registry/simulated/index.ts';
import { createManualClock, type ManualClock } from '../../src/kernel/clock/clock.ts';
import type { Database } from '../../src/kernel/db/database.ts';

export const DAY_MS = 86_400_000;

/** `com` and `co.uk` are alike; a transfer of an `ai` adds two years. */
export const testPrices: PriceList = (zone) => {
  const fees = { createCents: 1_000, renewCents: 1_100, transferCents: 900, restoreCents: 8_000, tradeCents: 700 };
  if (zone === 'ai') return { ...fees, transferYears: 2 };
  return zone === 'com' || zone === 'co.uk' ? fees : undefined;
};

export interface TestRegistry {
  readonly core: RegistryCore;
  readonly clock: ManualClock;
  /** Two registrars that no other test has. */
  readonly ours: Session;
  readonly theirs: Session;
  /** A contact of each. */
  readonly registrant: string;
  readonly theirRegistrant: string;
  /** Registers a name for `ours`, and waits until that is done. */
  register(name: string, years?: number): Promise<void>;
  /** Takes everything out of a registrar's queue. */
  drain(session: Session): Promise<PollMessage[]>;
}

export interface TestRegistryOptions {
  readonly at?: Date;
  readonly delays?: Partial<RegistryDelays>;
  readonly autoRenewGraceDays?: number | undefined;
  readonly restoreReports?: boolean | undefined;
  readonly special?: SpecialNames;
  readonly credit?: CreditOf | undefined;
  /** Default: `testPrices`. */
  readonly prices?: PriceList;
  /** Default: one of its own. */
  readonly clock?: ManualClock;
  readonly messages?: MessageHabits | undefined;
}

const start = new Date('2026-03-01T12:00:00Z');
let count = 0;

export async function openTestRegistry(
  db: Database,
  {
    at = start,
    autoRenewGraceDays,
    restoreReports,
    credit,
    delays = {},
    messages,
    prices = testPrices,
    special,
    ...given
  }: TestRegistryOptions = {},
): Promise<TestRegistry> {
  const clock = given.clock ?? createManualClock(at);
  const core = createRegistryCore({
    ...{ db, clock, prices, credit, delays, autoRenewGraceDays, restoreReports, messages, special },
  });
  count += 1;
  const ours = { registrarId: `ours-${count}`, clTRID: 'client-1' };
  const theirs = { registrarId: `theirs-${count}`, clTRID: 'client-2' };
  const registrant = `OURS-${count}`;
  const theirRegistrant = `THEIRS-${count}`;
  done(await core.createContact(ours, testContact(registrant)));
  done(await core.createContact(theirs, testContact(theirRegistrant)));
  return {
    core,
    clock,
    ours,
    theirs,
    registrant,
    theirRegistrant,
    async register(name, years = 1) {
      done(await core.createDomain(ours, { name, years, registrant, authInfo: 'auth-of-ours' }));
      clock.advance((delays.createSeconds ?? 2) * 1_000);
      await core.infoDomain(ours, { name });
    },
    async drain(session) {
      const messages: PollMessage[] = [];
      for (;;) {
        const found = done(await core.requestMessage(session));
        if (found === undefined) return messages;
        messages.push(found.message);
        done(await core.acknowledgeMessage(session, found.message.id));
      }
    },
  };
}

export function testContact(id: string) {
  return {
    id,
    postalInfo: [{ type: 'int', name: 'Ada', street: ['1 Mill Lane'], city: 'London', country: 'GB' }],
    voice: '+44.2071234567',
    email: 'ada@example.net',
    authInfo: 'contact-secret',
    disclose: true,
  } as const;
}

/** The data of a reply that must be a success. */
export function done<Data>(reply: Reply<Data>): Data {
  assert.ok(reply.ok, reply.ok ? '' : `${reply.code} ${reply.message}: ${reply.reason}`);
  return reply.data;
}

/** The code of a reply that must be a refusal. */
export function refused(reply: Reply<unknown>): number {
  assert.ok(!reply.ok, 'the registry did what it should have refused');
  assert.ok(reply.reason.length > 0);
  return reply.code;
}
