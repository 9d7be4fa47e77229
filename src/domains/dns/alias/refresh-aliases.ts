/**
 * ALIAS records: a zone's own name can have no CNAME, so the addresses of the target are served in its place, and kept up with it.
 *
 *   record made, or its target changed ─▶ looked up ─┬─▶ addresses: served; looked up again when they may be remembered no longer
 *                                            ▲       ├─▶ no answer: the last ones are served on, for a day
 *                                            │       └─▶ no such name, no address, a loop: none are served
 *                                            └── again, each time later ◀──┘
 *
 * Until its first answer a record that has replaced addresses goes on with them (`save-records.ts`).
 * Any number of processes may do so at a time: a claim names the process that looks.
 */
import pLimit from 'p-limit';
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { millisecondsUntil } from '../../../kernel/periodic/next-due.ts';
import { backoffMs } from '../../../kernel/retry/backoff.ts';
import {
  type AliasAddress,
  type AliasLook,
  type AliasProblem,
  type ClaimedAlias,
  claimAliases,
  findDueAliases,
  listTargets,
  matchAliases,
  saveLook,
} from './alias-store.ts';
import type { AddressType, AliasTargets, TargetAddresses } from './alias-targets.ts';

export interface AliasDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly aliasTargets: AliasTargets;
}

/** How long addresses are served that cannot be looked up any more. */
const KEPT_MS = 86_400_000;
/** Seconds: nothing is looked up more often, and nothing is trusted for longer without a look. */
const SHORTEST_SECONDS = 30;
const LONGEST_SECONDS = 3_600;
/** After a look without addresses. */
const RETRY = { firstMs: 10_000, longestMs: 300_000 } as const;
const CONCURRENCY = 8;
/** ALIAS records that lead to one another. */
const LONGEST_CHAIN = 8;

/** Those that are due, once. Resolves with the milliseconds until the next, where none was due. */
export async function refreshAliases(deps: AliasDependencies, signal?: AbortSignal): Promise<number | undefined> {
  const now = deps.clock.now();
  const { areDue, nextLookAt } = await findDueAliases(deps.db, now);
  if (!areDue) return millisecondsUntil(nextLookAt, now);
  await matchAliases(deps.db, now);
  const due = await claimAliases(deps.db, now);
  const limit = pLimit(CONCURRENCY);
  await Promise.all(due.map((alias) => limit(() => (signal?.aborted === true ? undefined : refresh(deps, alias)))));
  return undefined;
}

async function refresh(deps: AliasDependencies, alias: ClaimedAlias): Promise<void> {
  const { clock, db, logger } = deps;
  const target = alias.target.replace(/\.$/, '');
  const found = await deps.aliasTargets.find(target);
  const isLoop = await leadsBack(db, alias.name, found.names);
  const look = judge(alias, found, { isLoop, now: clock.now() });
  if (look.problem !== null && look.attempts === 1) {
    logger.info({ zone: alias.name, target, problem: look.problem }, 'an ALIAS record finds no addresses');
  }
  await saveLook(db, alias, look);
}

/** Whether the name itself is among what its target is found by: both would then remember each other's addresses for ever. */
async function leadsBack(db: Database, name: string, found: readonly string[]): Promise<boolean> {
  const seen = new Set(found);
  let names = found;
  for (let links = 0; names.length > 0 && links < LONGEST_CHAIN; links += 1) {
    if (names.includes(name)) return true;
    names = (await listTargets(db, names)).filter((target) => !seen.has(target));
    for (const target of names) seen.add(target);
  }
  return names.includes(name);
}

interface Circumstances {
  readonly isLoop: boolean;
  readonly now: Date;
}

/** What is to be served from now on. Of a type that nobody can tell, what was served before is. */
function judge(alias: ClaimedAlias, { answers }: TargetAddresses, { isLoop, now }: Circumstances): AliasLook {
  const types: readonly AddressType[] = ['A', 'AAAA'];
  // Before the first answer, those of the records that it has replaced.
  const isOld = now.getTime() - (alias.resolvedAt ?? alias.madeAt).getTime() >= KEPT_MS;
  const before = isOld ? [] : alias.addresses;
  const addresses = types.flatMap((type): readonly AliasAddress[] => {
    const answer = answers[type];
    if (answer.kind === 'unknown') return before.filter((address) => address.type === type);
    return answer.kind === 'found' ? answer.values.map((value) => ({ type, value })) : [];
  });
  const ttls = types.flatMap((type) => (answers[type].kind === 'found' ? [ttlIn(answers[type])] : []));
  const hasAnswer = types.some((type) => {
    const answer = answers[type];
    return answer.kind === 'found' && answer.values.length > 0;
  });
  if (hasAnswer && !isLoop) {
    const seconds = Math.max(Math.min(...ttls), SHORTEST_SECONDS);
    const nextLookAt = new Date(now.getTime() + Math.min(seconds, LONGEST_SECONDS) * 1_000);
    return { addresses, ttl: steadyTtl(alias.ttl, seconds), resolvedAt: now, attempts: 0, problem: null, nextLookAt };
  }
  const attempts = alias.attempts + 1;
  return {
    addresses: isLoop ? [] : addresses,
    ttl: alias.ttl,
    resolvedAt: alias.resolvedAt,
    attempts,
    problem: isLoop ? 'loop' : problemOf(answers),
    nextLookAt: new Date(now.getTime() + backoffMs(attempts, RETRY)),
  };
}

function ttlIn(answer: TargetAddresses['answers'][AddressType]): number {
  return answer.kind === 'found' ? answer.ttl : 0;
}

/** Never above what is found. A resolver tells the time that is left, which differs with each look: it need not change the zone each time. */
function steadyTtl(before: number | null, found: number): number {
  return before !== null && before <= found && found < 2 * before ? before : found;
}

function problemOf(answers: TargetAddresses['answers']): AliasProblem {
  const all = [answers.A, answers.AAAA];
  if (all.some(({ kind }) => kind === 'unknown')) return 'no_answer';
  if (all.some((answer) => answer.kind === 'found' && answer.hidden)) return 'private_addresses';
  return all.some(({ kind }) => kind === 'no_such_name') ? 'no_such_name' : 'no_addresses';
}
