/**
 * How long callers of a domain service of a test are kept waiting for the registry: not by the clock, which a busy machine would let
 * run out, but until the test says that their time is over.
 */
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { type BackgroundWork, createBackgroundWork, LATE } from '../../src/domains/background-work.ts';
import { type ReadOptions, type Registry, RegistryUnavailable } from '../../src/domains/registry/registry.ts';
import type { Logger } from '../../src/kernel/log/log.ts';

/** For what nobody ends. */
const TIMEOUT_MS = 60_000;

export interface Patience {
  readonly background: BackgroundWork;
  /** The registry, whose reads wait as long as callers do. */
  over(registry: Registry): Registry;
  /** The time of all who wait for the registry now is over. */
  runOut(): void;
}

export function createPatience(logger: Logger): Patience {
  const inner = createBackgroundWork(logger);
  const waiting = new Set<() => void>();

  /** What comes of it, or LATE once the time is over. */
  async function untilRunOut<Value>(work: Promise<Value>): Promise<Value | typeof LATE> {
    const { promise, resolve } = Promise.withResolvers<typeof LATE>();
    const end = () => resolve(LATE);
    waiting.add(end);
    try {
      return await Promise.race([work, promise]);
    } finally {
      waiting.delete(end);
    }
  }

  const patient = (options: ReadOptions): ReadOptions => ({ ...options, timeoutMs: TIMEOUT_MS });

  return {
    background: {
      within: (work) => untilRunOut(inner.within(work, TIMEOUT_MS)),
      // A look that follows at once finds what one a second later would: nothing but a test changes what the registry says.
      pause: () => yieldToOthers(),
      idle: (timeoutMs) => inner.idle(timeoutMs),
    },
    over(registry) {
      const reads: Pick<Registry, 'check' | 'info'> = {
        async info(name, options) {
          if (options?.timeoutMs === undefined) return registry.info(name, options);
          const info = await untilRunOut(registry.info(name, patient(options)));
          if (info === LATE) throw new RegistryUnavailable('the registry does not answer in time');
          return info;
        },
        async check(names, options) {
          if (options?.timeoutMs === undefined) return registry.check(names, options);
          const answers = await untilRunOut(registry.check(names, patient(options)));
          return answers === LATE ? names.map((name) => ({ name, availability: 'unknown' })) : answers;
        },
      };
      return new Proxy(registry, {
        get(target, member) {
          if (member === 'info' || member === 'check') return reads[member];
          const value: unknown = Reflect.get(target, member, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    },
    runOut() {
      for (const end of waiting) end();
    },
  };
}

/** As the product has it, by the clock: for the soak. */
export function createTimedPatience(logger: Logger): Patience {
  return { background: createBackgroundWork(logger), over: (registry) => registry, runOut: () => undefined };
}
