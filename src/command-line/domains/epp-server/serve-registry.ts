/** The simulated registry with the habits of a file, behind its EPP server. */
import { simulatedFees } from '../../../domains/boot/open-dependencies.ts';
import { feeUri, IDN_URIS } from '../../../domains/boot/setup/registry-options.ts';
import { standardPriceBook } from '../../../domains/prices/price-book.ts';
import {
  type EppServer,
  type EppServerOptions,
  followRules,
  limitCommands,
  type ServerHabits,
  startEppServer,
} from '../../../domains/registry/epp/index.ts';
import {
  answerWrongly,
  type CreditOf,
  createRegistryCore,
  type RegistryCore,
} from '../../../domains/registry/simulated/index.ts';
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { createPeriodicWorker } from '../../../kernel/periodic/periodic-worker.ts';
import type { Habits } from './habits-schema.ts';
import { createOutOfBand, registerName } from './out-of-band.ts';

export interface RegistryOptions extends Pick<EppServerOptions, 'tls' | 'host' | 'port' | 'registrars' | 'logger'> {
  readonly db: Database;
  readonly clock: Clock;
  readonly habits: Habits;
}

export interface ServedRegistry extends Pick<EppServer, 'host' | 'port' | 'stop'> {
  /** Answers rightly, whatever the habits. */
  readonly core: RegistryCore;
}

const DUE_INTERVAL_MS = 1_000;
const DEFAULT_SEED = 1;

/** Resolves when it listens and has what it begins with. Throws `CommandError` for a name that it cannot begin with. */
export async function serveRegistry(options: RegistryOptions): Promise<ServedRegistry> {
  const { clock, db, habits, logger, registrars, ...served } = options;
  const {
    answers = [],
    limits = {},
    messages = {},
    out_of_band: events = [],
    seed = DEFAULT_SEED,
    sells = {},
  } = habits;
  const core = createRegistryCore({ db, clock, ...coreOptionsOf(habits, clock) });
  const { choose, deliver } = followRules(
    answers.map(({ late_ms: lateMs, ...rule }) => ({ ...rule, lateMs })),
    seed,
  );
  const { commands_per_minute: perMinute, idle_seconds: idleSeconds, session_commands: perSession, sessions } = limits;
  const server = await startEppServer({
    ...{ ...served, clock, logger, registrars },
    core: answerWrongly(core, choose),
    habits: serverHabitsOf(habits),
    deliver: limitCommands({ perMinute, perSession }, clock, deliver),
    limits: {
      ...(idleSeconds === undefined ? {} : { idleTimeoutMs: idleSeconds * 1_000 }),
      ...(sessions === undefined ? {} : { maxSessionsPerRegistrar: sessions }),
    },
  });
  try {
    for (const [registrarId, names] of Object.entries(sells.registered ?? {})) {
      for (const name of names) await registerName(core, registrarId, name);
    }
  } catch (error) {
    await server.stop();
    throw error;
  }
  for (const text of messages.unknown ?? []) {
    for (const { id } of registrars) await core.announce(id, text);
  }
  const outOfBand = createOutOfBand({ core, clock, events, logger });
  // What is due by the clock is done although nobody asks.
  const dueWork = createPeriodicWorker({
    name: 'simulated registry',
    intervalMs: DUE_INTERVAL_MS,
    pass: async () => {
      await core.runDue();
      await outOfBand.runDue();
    },
    logger,
  });
  dueWork.start();
  return {
    core,
    host: server.host,
    port: server.port,
    async stop() {
      await Promise.all([dueWork.stop(), server.stop()]);
    },
  };
}

function coreOptionsOf({ limits = {}, messages = {}, sells = {}, terms = {} }: Habits, clock: Clock) {
  const { newest_first: newestFirst = false, twice = false } = messages;
  const { premium = {}, reserved = [], tlds } = sells;
  const { create_seconds: createSeconds, renew_seconds: renewSeconds, transfer_seconds: transferSeconds } = terms;
  return {
    prices: simulatedFees(standardPriceBook(), clock, tlds),
    autoRenewGraceDays: terms.auto_renew_grace_days,
    restoreReports: terms.restore_reports,
    delays: {
      ...(createSeconds === undefined ? {} : { createSeconds }),
      ...(renewSeconds === undefined ? {} : { renewSeconds }),
      ...(transferSeconds === undefined ? {} : { transferSeconds }),
    },
    special: { premium: centsByKey(premium), reserved: new Set(reserved) },
    credit: creditOf(centsByKey(limits.credit ?? {})),
    messages: { newestFirst, twice },
  };
}

const DNSSEC_DATA = { ds: 'dsData', keys: 'keyData', none: 'none' } as const;

function serverHabitsOf({ limits = {}, protocol = {} }: Habits): Partial<ServerHabits> {
  const { claims, contacts = 'objects', dnssec = 'ds', fee_versions: feeVersions, hosts = 'objects', idn } = protocol;
  return {
    contacts,
    nameservers: hosts === 'objects' ? 'hostObj' : 'hostAttr',
    dnssec: DNSSEC_DATA[dnssec],
    balance: protocol.balance ?? limits.credit !== undefined,
    subProducts: protocol.name_store,
    sunrise: protocol.sunrise,
    claims: claims === undefined ? undefined : new Map(Object.entries(claims)),
    idn: idn === undefined ? undefined : { uri: IDN_URIS[idn.extension], tables: idn.tables },
    ...(feeVersions === undefined ? {} : { feeUris: feeVersions.map(feeUri) }),
  };
}

function centsByKey(euros: Readonly<Record<string, number>>): Map<string, number> {
  return new Map(Object.entries(euros).map(([key, amount]) => [key, Math.round(amount * 100)]));
}

/** Registries warn of the last fifth. */
function creditOf(credits: ReadonlyMap<string, number>): CreditOf {
  return (registrarId) => {
    const cents = credits.get(registrarId);
    return cents === undefined ? undefined : { cents, warnBelowCents: Math.round(cents / 5) };
  };
}
