/** Names that come and go without a command of the registrar that has them: by hand at the registry, or by another system of the registrar's. */
import { createHash, randomBytes } from 'node:crypto';
import type { RegistryCore } from '../../../domains/registry/simulated/index.ts';
import { addSeconds } from '../../../domains/registry/term.ts';
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { CommandError } from '../../command-error.ts';
import type { Habits } from './habits-schema.ts';

type OutOfBandEvent = NonNullable<Habits['out_of_band']>[number];

interface Parts {
  readonly core: () => RegistryCore;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface OutOfBand {
  /** The events from now on. One that was among those before keeps its time, and is done once. */
  expect(events: readonly OutOfBandEvent[]): void;
  runDue(): Promise<void>;
}

interface Expected {
  readonly event: OutOfBandEvent;
  readonly since: Date;
  isDone: boolean;
}

const ELSEWHERE = 'elsewhere';
const OBJECT_EXISTS = 2302;

/**
 * Each event is done once, as soon as its time is over and the registry can: a name moves so long after its creation, and is registered so long after
 * they are expected. A process that starts again does them again, which changes nothing that is so already.
 */
export function createOutOfBand({ clock, core, logger }: Parts): OutOfBand {
  let expected = new Map<string, Expected>();

  async function carryOut({ event: wanted, since: expectedSince }: Expected) {
    const { after_seconds: seconds = 0, event, name, registrar = ELSEWHERE } = wanted;
    const since = event === 'registered' ? expectedSince : await readCreation(core(), name);
    if (since === undefined || clock.now() < addSeconds(since, seconds)) return false;
    const reply =
      event === 'registered'
        ? await createDomain(core(), registrar, name)
        : await core().moveDomain({ name, registrarId: registrar });
    return reply.ok;
  }

  return {
    expect(events) {
      const since = clock.now();
      const keyed = events.map((event) => [JSON.stringify(event), event] as const);
      expected = new Map(keyed.map(([key, event]) => [key, expected.get(key) ?? { event, since, isDone: false }]));
    },
    async runDue() {
      for (const one of expected.values()) {
        if (one.isDone || !(await carryOut(one))) continue;
        one.isDone = true;
        logger.info({ ...one.event }, 'an event out of band is done');
      }
    },
  };
}

/** Undefined: it is not there, or not yet. */
async function readCreation(core: RegistryCore, name: string): Promise<Date | undefined> {
  const reply = await core.infoDomain({ registrarId: ELSEWHERE }, { name });
  return reply.ok ? reply.data.createdAt : undefined;
}

/** For a year. One that is there already stays as it is. */
export async function registerName(core: RegistryCore, registrarId: string, name: string): Promise<void> {
  const reply = await createDomain(core, registrarId, name);
  if (!reply.ok && reply.code !== OBJECT_EXISTS)
    throw new CommandError(`sells.registered: ${name} was not registered: ${reply.reason}`);
}

async function createDomain(core: RegistryCore, registrarId: string, name: string) {
  const session = { registrarId };
  const id = `FIRST${createHash('sha256').update(registrarId).digest('hex').slice(0, 11).toUpperCase()}`;
  const authInfo = randomBytes(12).toString('hex');
  const postalInfo = [
    { type: 'int', name: 'First Owner', street: ['1 Mill Lane'], city: 'London', country: 'GB' },
  ] as const;
  // Refused where it is there from the name before.
  await core.createContact(session, { id, postalInfo, email: 'owner@example.net', authInfo, disclose: false });
  const feeCents = core.feesOf(name)?.createCents;
  return core.createDomain(session, { name, years: 1, registrant: id, authInfo, feeCents });
}
