/** How a verb reaches the store: by itself, or through the server that holds the embedded database. */
import { loadConfig } from '../kernel/config/config.ts';
import { FolderInUseError } from '../kernel/db/folder-lock.ts';
import {
  type AnswerOf,
  askOperator,
  OperatorError,
  OperatorUnreachableError,
  type OperatorVerbs,
  operatorSocketPath,
  type RequestOf,
  type VerbHandlers,
  type VerbTable,
} from '../kernel/operator/index.ts';
import { CommandError } from './command-error.ts';
import { type Store, withMigratedStore } from './open-store.ts';

const WHILE_SERVING = 'Stop it, run this again, and start it.';

/** Carries out the verb; `open` makes its handlers where no server holds the store. Throws CommandError. */
export async function runOperatorVerb<Table extends VerbTable, Verb extends keyof Table & string>(
  table: OperatorVerbs<Table>,
  verb: Verb,
  request: RequestOf<Table, Verb>,
  open: (store: Store) => Promise<VerbHandlers<Table>>,
): Promise<AnswerOf<Table, Verb>> {
  try {
    return await withMigratedStore(WHILE_SERVING, async (store) => (await open(store))[verb](request));
  } catch (error) {
    if (error instanceof OperatorError) throw new CommandError(error.message, { cause: error });
    if (!(error instanceof CommandError && error.cause instanceof FolderInUseError)) throw error;
    return askServer(error, table, verb, request);
  }
}

/** Of the server that holds the embedded database; `held` says so, and what to do where it does not answer. */
async function askServer<Table extends VerbTable, Verb extends keyof Table & string>(
  held: CommandError,
  table: OperatorVerbs<Table>,
  verb: Verb,
  request: RequestOf<Table, Verb>,
): Promise<AnswerOf<Table, Verb>> {
  try {
    return await askOperator(operatorSocketPath(loadConfig().dataDir), table, verb, request);
  } catch (error) {
    if (error instanceof OperatorError) throw new CommandError(error.message, { cause: error });
    if (error instanceof OperatorUnreachableError) {
      throw new CommandError(`${held.message}\nIt was asked, and ${error.message}.`, { cause: error });
    }
    throw error;
  }
}
