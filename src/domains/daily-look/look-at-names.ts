/** What the registry says of names that are due, a list of them at a time. */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/log.ts';
import { areTooManyMissing, findDomainById, MISSING_LOOK_MS, syncDomain } from '../portfolio/index.ts';
import { type Registry, RegistryBusy, type RegistryMember, RegistryUnavailable } from '../registry/registry.ts';
import { workspaceDb } from '../workspace-scope.ts';
import { countNames, type DueName, listDueNames } from './due-names.ts';
import { divide, readingShare } from './reading-share.ts';
import { createUnansweredNames } from './unanswered-names.ts';

export interface DailyLookDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly logger: Logger;
}

/** Looks at the names of one registry. */
export interface NameLooks {
  areDue(): Promise<boolean>;
  /** True: there are more. `isKept`: false once another process does this, or this one stops. */
  lookAtNext(isKept: () => Promise<boolean>): Promise<boolean>;
}

const LIST_SIZE = 200;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Once any is due by the day, those that will be so soon come along: few names make poor checks. */
const TOGETHER_MS = HOUR_MS;
/** Between two reads of a name that the registry has not reported yet. */
const UNREPORTED_AFTER_MS = 60_000;
const ENDS_SOON_MS = 2 * DAY_MS;
/** To count many names takes some milliseconds, and few may have become many since. */
const COUNTED_FOR_MS = 60_000;
const TOO_MANY_MISSING =
  'the registry says of more than one name in a thousand that it is not ours: its answers may be wrong. No name is retired, and only ' +
  'those that are missing are asked about; see `ironcraft domains name missing`';
/** After so many names in a row about which it gives no answer the registry counts as unreachable. */
const UNANSWERED_LIMIT = 3;

export function createNameLooks(deps: DailyLookDependencies, member: RegistryMember): NameLooks {
  const { clock, db, logger, registry } = deps;
  const { id: registryId, zones } = member;
  const unanswered = createUnansweredNames(clock);
  const share = createShare(deps, member);

  function listDue(except: readonly string[], limit: number, lookedMs = DAY_MS): Promise<DueName[]> {
    const now = clock.now().getTime();
    const before = {
      looked: new Date(now - lookedMs),
      unreported: new Date(now - UNREPORTED_AFTER_MS),
      missing: new Date(now - MISSING_LOOK_MS),
    };
    return listDueNames(db, { zones, except, before, endsBefore: new Date(now + ENDS_SOON_MS), limit });
  }

  /** Those about which the registry gave no answer come when no other is due. */
  async function listNext(limit: number): Promise<DueName[]> {
    const later = unanswered.all();
    const found = await listDue(later, limit);
    const isDaily = found.some(({ must_read: mustRead }) => !mustRead);
    const others = isDaily && limit > 1 ? await listDue(later, limit, DAY_MS - TOGETHER_MS) : found;
    return others.length > 0 || later.length === 0 ? others : listDue(unanswered.resting(), limit);
  }

  /** The registry's answers may be wrong: then it is asked about those names alone that are missing, until it shows them again. */
  const isInDoubt = () => areTooManyMissing(db, clock.now(), zones);

  /** False: the registry is to be left alone for now. */
  async function read(names: readonly DueName[], isKept: () => Promise<boolean>): Promise<boolean> {
    let inDoubt = names.length > 0 && (await isInDoubt());
    let inARow = 0;
    for (const { workspace_id: workspaceId, id, missing_since: missingSince } of names) {
      if (inDoubt && missingSince === null) continue;
      if (!(await isKept())) return false;
      const row = await findDomainById(workspaceDb(db, workspaceId), id);
      if (row === undefined) continue;
      try {
        const after = await syncDomain({ db, registry, now: clock.now() }, row, { withHosts: true });
        unanswered.forget(id);
        inARow = 0;
        const isNewlyMissing = missingSince === null && after !== undefined && after.missing_since !== null;
        if (!isNewlyMissing) continue;
      } catch (error) {
        if (!(error instanceof RegistryUnavailable)) throw error;
        logUnanswered(row.name, error);
        if (error instanceof RegistryBusy) return false;
        unanswered.note(id);
        inARow += 1;
        if (inARow === UNANSWERED_LIMIT) return false;
        continue;
      }
      logger.warn({ domain: row.name }, 'the registry says that a name is not ours; it stays until that is confirmed');
      inDoubt = await isInDoubt();
      if (inDoubt) logger.error({ domain: row.name }, TOO_MANY_MISSING);
    }
    return !inDoubt;
  }

  /** Those that are taken have been seen; the others are left to be read. Undefined: not all were asked about, as another process does this now. */
  async function check(names: readonly DueName[], isKept: () => Promise<boolean>): Promise<DueName[] | undefined> {
    const size = member.dailyLook?.namesACheck ?? names.length;
    const left: DueName[] = [];
    for (let start = 0; start < names.length; start += size) {
      if (!(await isKept())) return undefined;
      const some = names.slice(start, start + size);
      const answers = await registry.check(
        some.map(({ name }) => name),
        { onlyAvailability: true },
      );
      const isTaken = some.map((_, index) => answers[index]?.availability === 'taken');
      await noteSeen(some.filter((_, index) => isTaken[index]));
      left.push(...some.filter((_, index) => !isTaken[index]));
    }
    return left;
  }

  async function noteSeen(names: readonly DueName[]): Promise<void> {
    if (names.length === 0) return;
    await db.query({
      text: 'update domains.domains set seen_at = $1 where id = any($2::text[])',
      values: [clock.now(), names.map(({ id }) => id)],
    });
  }

  /** That others come first at a registry that takes few commands is as it should be. */
  function logUnanswered(domain: string, error: RegistryUnavailable): void {
    const level = error instanceof RegistryBusy ? 'info' : 'warn';
    const fields = { registry: registryId, domain, reason: error.message };
    logger[level](fields, 'the registry cannot be asked about a name now');
  }

  return {
    areDue: async () => (await listNext(1)).length > 0,
    async lookAtNext(isKept) {
      const due = await listNext(LIST_SIZE);
      const { toRead, toCheck } = divide(due, await share());
      if (!(await read(toRead, isKept))) return false;
      const left = await check(toCheck, isKept);
      return left !== undefined && (await read(left, isKept)) && due.length === LIST_SIZE;
    },
  };
}

/** The share of the registry’s names that is read each day. */
function createShare({ clock, db }: DailyLookDependencies, { dailyLook, zones }: RegistryMember) {
  let counted: { readonly names: number; readonly atMs: number } | undefined;
  return async () => {
    // Where commands cost nothing.
    if (dailyLook === undefined) return 1;
    const now = clock.now().getTime();
    const isFresh = counted !== undefined && Math.abs(now - counted.atMs) < COUNTED_FOR_MS;
    if (counted === undefined || !isFresh || counted.names < LIST_SIZE) {
      counted = { names: await countNames(db, zones), atMs: now };
    }
    return readingShare(counted.names, dailyLook);
  };
}
