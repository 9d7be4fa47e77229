/** Queues of registries whose oldest message can neither be read nor removed: those behind it wait until the registry removes it. */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/log.ts';
import { type RegistryMember, type RegistryMessage, UnreadableQueue } from '../registry/registry.ts';
import { type SystemDb, systemDb } from '../workspace-scope.ts';

interface QueueDependencies {
  readonly clock: Clock;
  readonly db: Database;
  readonly logger: Logger;
}

/** The oldest message; undefined: there is none, or it cannot be read, which the operator is told. Throws `RegistryUnavailable` otherwise. */
export async function pollOrTell(
  { clock, db, logger }: QueueDependencies,
  member: Pick<RegistryMember, 'id' | 'poll'>,
): Promise<RegistryMessage | undefined> {
  const duty = systemDb(db)
    .updateTable('registry_duties')
    .where('registry', '=', member.id)
    .where('duty', '=', 'messages');
  try {
    const polled = await member.poll();
    await duty.set({ problem: null, problem_since: null }).where('problem', 'is not', null).execute();
    return polled?.message;
  } catch (error) {
    if (!(error instanceof UnreadableQueue)) throw error;
    const { message: problem } = error;
    const noted = await duty
      .set({ problem, problem_since: clock.now() })
      .where('problem', 'is distinct from', problem)
      .executeTakeFirst();
    if (noted.numUpdatedRows > 0n) logger.error({ registry: member.id, reason: problem }, UNREADABLE);
    return undefined;
  }
}

export const UNREADABLE =
  'the oldest message of a registry can neither be read nor acknowledged, and those behind it wait: have the registry remove it, and see ' +
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
