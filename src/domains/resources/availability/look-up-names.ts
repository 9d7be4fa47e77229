/**
 * Who has a name: first asked here, then of the registry, whose answer is remembered for a moment.
 *
 *   ours, or being acquired ──▶ taken; the registry is not asked
 *   otherwise ──▶ what the registry said: at most `MAX_AGE_MS` ago, and since a name last left us
 *
 * What happens to names here shows at once, on every replica: that is read with each call. What happens at the registry beside us
 * shows when the age is over. Nothing else is decided by a remembered answer: orders ask the registry themselves.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { createKeyedBatcher } from '../../../kernel/event-loop/batcher.ts';
import { READ_MS } from '../../deadline.ts';
import type { Availability, Registry } from '../../registry/registry.ts';
import { createOwnershipCheck, type KnownHere } from './store.ts';

/** What is known of the names, in their order; a name that is known to nobody in time is `unknown`. */
export type LookUpNames = (names: readonly AskedName[]) => Promise<Availability[]>;

export interface AskedName {
  readonly ascii: string;
  readonly tld: string;
}

const MAX_AGE_MS = 2_000;
const MAX_REMEMBERED = 10_000;
/** An EPP registry is asked about so many in a few commands. */
const MAX_ASKED_TOGETHER = 50;
/** A registry takes its time: whoever comes meanwhile waits for others no longer than this. */
const PATIENCE_MS = 20;

interface Remembered {
  /** Of the question: the answer may be older than its arrival. */
  readonly askedAtMs: number;
  readonly leftAt: number | undefined;
  readonly answer: Promise<Availability>;
}

export interface LookUpDependencies {
  readonly db: Database;
  readonly registry: Pick<Registry, 'check'>;
  readonly clock: Clock;
}

export function createNameLookUp({ db, registry, clock }: LookUpDependencies): LookUpNames {
  const remembered = new LRUCache<string, Remembered>({ max: MAX_REMEMBERED });
  const findKnown = createOwnershipCheck(db);
  const askRegistry = createRegistryQuestion(registry);

  function ask(key: string, name: string, { leftAt }: KnownHere): Promise<Availability> {
    const nowMs = clock.now().getTime();
    const last = remembered.get(name);
    if (last !== undefined && last.leftAt === leftAt && nowMs - last.askedAtMs < MAX_AGE_MS) return last.answer;
    const entry = { askedAtMs: nowMs, leftAt, answer: askRegistry(key, name) };
    remembered.set(name, entry);
    // Nothing is learnt from no answer: whoever asks next asks the registry.
    const forget = () => remembered.get(name) === entry && remembered.delete(name);
    entry.answer.then(({ availability }) => availability === 'unknown' && forget(), forget);
    return entry.answer;
  }

  return async (names) => {
    const known = await Promise.all(names.map(({ ascii }) => findKnown(ascii)));
    const tlds = names.filter((_, index) => known[index]?.isOurs !== true).map(({ tld }) => tld);
    const key = [...new Set(tlds)].sort().join(' ');
    return Promise.all(
      names.map(async ({ ascii }, index): Promise<Availability> => {
        const here = known[index];
        if (here === undefined || here.isOurs) return { name: ascii, availability: 'taken' };
        return ask(key, ascii, here);
      }),
    );
  };
}

/**
 * One question for all who ask about names of the same TLDs together. Of other TLDs they do not: their registry may be a slower
 * one.
 */
function createRegistryQuestion(registry: Pick<Registry, 'check'>) {
  return createKeyedBatcher(
    async (_tlds: string, names: readonly string[]): Promise<Availability[]> => {
      const answers = await registry.check(names, { timeoutMs: READ_MS });
      const byName = new Map(answers.map((answer) => [answer.name, answer]));
      return names.map((name) => byName.get(name) ?? { name, availability: 'unknown' });
    },
    { maxItems: MAX_ASKED_TOGETHER, patienceMs: PATIENCE_MS },
  );
}
