/** The simulated registry with the habits of a file, behind its EPP server. */
import { simulatedFees } from '../../../domains/boot/open-dependencies.ts';
import { feeUri, IDN_URIS, tradeUri } from '../../../domains/boot/setup/registry-options.ts';
import { standardPriceBook } from '../../../domains/prices/price-book.ts';
import {
  type EppServer,
  type EppServerOptions,
  followRules,
  limitCommands,
  type ServedLaunch,
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
  /** From the next command on. Throws as `serveRegistry`, and nothing changes then. */
  change(habits: Habits): Promise<void>;
}

const DUE_INTERVAL_MS = 1_000;
const DEFAULT_SEED = 1;

/** Resolves when it listens and has what it begins with. Throws `CommandError` for a name that it cannot begin with. */
export async function serveRegistry(options: RegistryOptions): Promise<ServedRegistry> {
  const { clock, db, habits, logger, registrars, ...served } = options;
  let core = createRegistryCore({ db, clock, ...coreOptionsOf(habits, clock) });
  const server = await startEppServer({ ...served, clock, logger, registrars, ...mannersOf(habits, core, clock) });
  try {
    await registerNames(core, habits);
  } catch (error) {
    await server.stop();
    throw error;
  }
  let announced: readonly string[] = [];
  const announce = async (texts: readonly string[]) => {
    for (const text of texts.filter((each) => !announced.includes(each))) {
      for (const { id } of registrars) await core.announce(id, text);
    }
    announced = texts;
  };
  await announce(habits.messages?.unknown ?? []);
  const outOfBand = createOutOfBand({ core: () => core, clock, logger });
  outOfBand.expect(habits.out_of_band ?? []);
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
    get core() {
      return core;
    },
    host: server.host,
    port: server.port,
    async change(changed) {
      const next = createRegistryCore({ db, clock, ...coreOptionsOf(changed, clock) });
      await registerNames(next, changed);
      core = next;
      server.change(mannersOf(changed, next, clock));
      await announce(changed.messages?.unknown ?? []);
      outOfBand.expect(changed.out_of_band ?? []);
    },
    async stop() {
      await Promise.all([dueWork.stop(), server.stop()]);
    },
  };
}

/** How the server answers. */
function mannersOf(habits: Habits, core: RegistryCore, clock: Clock) {
  const { answers = [], limits = {}, seed = DEFAULT_SEED } = habits;
  const { commands_per_minute: perMinute, idle_seconds: idleSeconds, session_commands: perSession, sessions } = limits;
  const { choose, deliver } = followRules(
    answers.map(({ late_ms: lateMs, ...rule }) => ({ ...rule, lateMs })),
    seed,
  );
  return {
    core: answerWrongly(core, choose),
    habits: serverHabitsOf(habits),
    deliver: limitCommands({ perMinute, perSession }, clock, deliver),
    limits: {
      ...(idleSeconds === undefined ? {} : { idleTimeoutMs: idleSeconds * 1_000 }),
      ...(sessions === undefined ? {} : { maxSessionsPerRegistrar: sessions }),
    },
  };
}

async function registerNames(core: RegistryCore, { sells: { registered = {} } = {} }: Habits): Promise<void> {
  for (const [registrarId, names] of Object.entries(registered)) {
    for (const name of names) await registerName(core, registrarId, name);
  }
}

function coreOptionsOf({ limits = {}, messages = {}, sells = {}, terms = {} }: Habits, clock: Clock) {
  const { newest_first: newestFirst = false, twice = false } = messages;
  const { premium = {}, reserved = [], tlds } = sells;
  const { create_seconds: createSeconds, renew_seconds: renewSeconds, transfer_seconds: transferSeconds } = terms;
  const { trade_seconds: tradeSeconds = 0 } = terms;
  return {
    prices: simulatedFees(standardPriceBook(), clock, tlds),
    autoRenewGraceDays: terms.auto_renew_grace_days,
    restoreReports: terms.restore_reports,
    delays: {
      ...(createSeconds === undefined ? {} : { createSeconds }),
      ...(renewSeconds === undefined ? {} : { renewSeconds }),
      ...(transferSeconds === undefined ? {} : { transferSeconds }),
      tradeSeconds,
    },
    special: { premium: centsByKey(premium), reserved: new Set(reserved) },
    credit: creditOf(centsByKey(limits.credit ?? {})),
    messages: { newestFirst, twice },
  };
}

const DNSSEC_DATA = { ds: 'dsData', keys: 'keyData', none: 'none' } as const;

function serverHabitsOf({ limits = {}, protocol = {} }: Habits): Partial<ServerHabits> {
  const { claims, contacts = 'objects', dnssec = 'ds', hosts = 'objects', idn, sunrise } = protocol;
  const { fee_versions: feeVersions } = protocol;
  return {
    contacts,
    nameservers: hosts === 'objects' ? 'hostObj' : 'hostAttr',
    dnssec: DNSSEC_DATA[dnssec],
    balance: protocol.balance ?? limits.credit !== undefined,
    subProducts: protocol.name_store,
    claims: claims === undefined ? undefined : new Map(Object.entries(claims)),
    launches: protocol.launches?.map(servedLaunch),
    sunrise: sunrise && { zones: sunrise.zones, applications: sunrise.applications === true },
    tradeUri: protocol.trade && tradeUri(protocol.trade),
    idn: idn === undefined ? undefined : { uri: IDN_URIS[idn.extension], tables: idn.tables },
    ...(feeVersions === undefined ? {} : { feeUris: feeVersions.map(feeUri) }),
  };
}

function servedLaunch(launch: NonNullable<NonNullable<Habits['protocol']>['launches']>[number]): ServedLaunch {
  const { application_fee: fee = 0, applications = false, name, phase, zones } = launch;
  return {
    zones,
    phase: name === undefined ? { phase } : { phase, name },
    applications,
    marks: launch.marks,
    validator: launch.validator,
    codes: new Map(Object.entries(launch.codes ?? {})),
    applicationCents: Math.round(fee * 100),
    refundsLost: launch.refunds_lost === true,
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
