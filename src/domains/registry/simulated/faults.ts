/**
 * Faults between the registrar and the registry. `before`: the command is lost before the registry, nothing was carried out. `after`: it
 * was carried out, and the answer is lost. The caller cannot tell which.
 */
import { sql } from 'kysely';
import type { Executor } from '../../../kernel/db/database.ts';
import { type RegistryDb, registryDb } from './tables.ts';

export type FaultCommand =
  | 'check'
  | 'info'
  | 'create'
  | 'renew'
  | 'transfer'
  | 'update'
  | 'delete'
  | 'restore'
  | 'poll'
  | 'acknowledge';

export type Fault = 'ok' | 'timeout' | 'disconnect';

/** `name` is empty for poll, the message's id for acknowledge, and the first of the names for check. */
export interface Faults {
  /** False: a command that begins now meets none, so they are not asked for. */
  hasFaults?(): Promise<boolean>;
  before(command: FaultCommand, name: string): Fault | Promise<Fault>;
  after(command: FaultCommand, name: string): Fault | Promise<Fault>;
}

export interface NewFault {
  /** A name; `*` stands for any run of characters. Default: every name. */
  readonly namePattern?: string;
  /** Default: every command. */
  readonly command?: FaultCommand;
  readonly moment: 'before' | 'after';
  readonly outcome: Exclude<Fault, 'ok'>;
  /** How many commands it hits. Default 1. */
  readonly times?: number;
}

/** Arranges a fault for whichever process sends the command, if it looks for faults (see `createStoredFaults`). */
export async function addFault(db: RegistryDb, fault: NewFault): Promise<void> {
  const { command = '*', moment, namePattern = '*', outcome, times = 1 } = fault;
  const row = { name_pattern: namePattern, command, moment, outcome, remaining: times };
  await db.insertInto('registry_faults').values(row).execute();
}

/** The faults in the table `registry_faults`, oldest first; each hits as many commands as it has left. */
export function createStoredFaults(executor: Executor): Faults {
  const db = registryDb(executor);
  return {
    // Nearly always there is none, and to look for one is cheaper than to try and take one.
    async hasFaults() {
      const { rows } = await executor.query<{ armed: boolean }>(armedQuery);
      return rows[0]?.armed === true;
    },
    before: (command, name) => takeFault(db, 'before', command, name),
    after: (command, name) => takeFault(db, 'after', command, name),
  };
}

const armedQuery = {
  text: 'select exists (select from domains.registry_faults where remaining > 0) as armed',
  values: [],
};

async function takeFault(
  db: RegistryDb,
  moment: 'before' | 'after',
  command: FaultCommand,
  name: string,
): Promise<Fault> {
  const first = db
    .selectFrom('registry_faults')
    .select('id')
    .where('moment', '=', moment)
    .where('remaining', '>', 0)
    .where('command', 'in', [command, '*'])
    .where(sql<boolean>`${name} like replace(replace(name_pattern, '_', '\\_'), '*', '%')`)
    .orderBy('id')
    .limit(1)
    .forUpdate()
    .skipLocked();
  const taken = await db
    .updateTable('registry_faults')
    .set({ remaining: sql`remaining - 1` })
    .where('id', 'in', first)
    .returning('outcome')
    .executeTakeFirst();
  return taken?.outcome ?? 'ok';
}
