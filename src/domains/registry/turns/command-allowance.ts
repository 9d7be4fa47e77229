/** The commands that a registry takes, shared by all processes of the service: one row a registry, locked for the moment of each. */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import { systemDb } from '../../workspace-scope.ts';
import { type CommandRate, EMPTY_WINDOW, takeTurn } from './command-window.ts';

export interface CommandAllowance {
  /** Undefined: the next command may be sent, and is counted. Else the milliseconds after which to ask again. */
  take(rank: number): Promise<number | undefined>;
}

export interface AllowanceOptions {
  readonly db: Database;
  readonly clock: Clock;
  /** As the configuration calls it. */
  readonly registry: string;
  readonly rate: CommandRate;
}

export function createCommandAllowance({ clock, db, rate, registry }: AllowanceOptions): CommandAllowance {
  const process = randomUUID();
  return {
    take: (rank) =>
      db.transaction(async (tx) => {
        const store = systemDb(tx);
        await store
          .insertInto('registry_allowances')
          .values({ registry, commands: json(EMPTY_WINDOW.commands), waiting: json(EMPTY_WINDOW.waiting) })
          .onConflict((conflict) => conflict.doNothing())
          .execute();
        const window = await store
          .selectFrom('registry_allowances')
          .select(['commands', 'waiting'])
          .where('registry', '=', registry)
          .forUpdate()
          .executeTakeFirstOrThrow();
        const turn = takeTurn(window, rate, { process, rank, nowMs: clock.now().getTime() });
        await store
          .updateTable('registry_allowances')
          .set({ commands: json(turn.window.commands), waiting: json(turn.window.waiting) })
          .where('registry', '=', registry)
          .execute();
        return turn.isGranted ? undefined : turn.againMs;
      }),
  };
}
