/** Queues of registries whose oldest message cannot be read, or not be removed: those behind it wait until the registry removes it. */

import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database, Executor } from '../../kernel/db/database.ts';
import { asLook } from '../../kernel/db/looks.ts';
import type { Logger } from '../../kernel/log/log.ts';
import { type RegistryMember, type RegistryMessage, UnreadableQueue } from '../registry/registry.ts';
import { type SystemDb, systemDb } from '../workspace-scope.ts';

interface QueueDependencies {
  readonly clock: Clock;
  readonly db: Database;
  readonly logger: Logger;
}

/** A refusal to remove a message may be a passing one: for so long nobody is told. */
const PATIENCE_MS = 10 * 60_000;

/** The oldest message; undefined: there is none, or it cannot be read, which the operator is told. Throws `RegistryUnavailable` otherwise. */
export async function pollOrTell(
  deps: QueueDependencies,
  member: Pick<RegistryMember, 'id' | 'poll'>,
): Promise<RegistryMessage | undefined> {
  try {
    const polled = await member.poll();
    if (polled === undefined) await forgetProblem(deps, member.id);
    return polled?.message;
  } catch (error) {
    if (!(error instanceof UnreadableQueue)) throw error;
    await noteProblem(deps, member.id, error, 0);
    return undefined;
  }
}

/** Throws `RegistryUnavailable`; where the registry goes on refusing, the operator is told. */
export async function acknowledgeOrTell(
  deps: QueueDependencies,
  member: Pick<RegistryMember, 'id' | 'acknowledge'>,
  messageId: string,
): Promise<void> {
  try {
    await member.acknowledge(messageId);
    await forgetProblem(deps, member.id);
  } catch (error) {
    if (error instanceof UnreadableQueue) await noteProblem(deps, member.id, error, PATIENCE_MS);
    throw error;
  }
}

const queueOf = (db: Executor, registry: string) =>
  systemDb(db).updateTable('registry_duties').where('registry', '=', registry).where('duty', '=', 'messages');

async function forgetProblem({ db }: QueueDependencies, registry: string): Promise<void> {
  const nothing = { problem: null, problem_since: null };
  await queueOf(asLook(db), registry).set(nothing).where('problem_since', 'is not', null).execute();
}

/** Tells it once, when the queue has had a problem for so long. */
async function noteProblem(
  { clock, db, logger }: QueueDependencies,
  registry: string,
  { message: problem }: UnreadableQueue,
  patienceMs: number,
): Promise<void> {
  const now = clock.now();
  await queueOf(db, registry).set({ problem_since: now }).where('problem_since', 'is', null).execute();
  const noted = await queueOf(db, registry)
    .set({ problem })
    .where('problem', 'is distinct from', problem)
    .where('problem_since', '<=', new Date(now.getTime() - patienceMs))
    .executeTakeFirst();
  if (noted.numUpdatedRows > 0n) logger.error({ registry, reason: problem }, UNREADABLE);
}

export const UNREADABLE =
  'the oldest message of a registry cannot be read, or not be removed, and those behind it wait: have the registry remove it, and see ' +
  '`ironcraft domains message list`';

export async function listUnreadableQueues(db: SystemDb) {
  const rows = await db
    .selectFrom('registry_duties')
    .select(['registry', 'problem', 'problem_since'])
    .where('problem', 'is not', null)
    .orderBy('registry')
    .execute();
  return rows.flatMap(({ problem, problem_since: since, registry }) =>
    problem === null || since === null ? [] : [{ registry, problem, since }],
  );
}
