/** How a verb of the domain service reaches the store: itself, or through the server that holds it. */

import type { AnswerOf, OperatorVerb, RequestOf } from '../../domains/operator/index.ts';
import { systemClock } from '../../kernel/clock/clock.ts';
import { loadConfig } from '../../kernel/config/config.ts';
import { FolderInUseError } from '../../kernel/db/folder-lock.ts';
import { CommandError } from '../command-error.ts';
import { withMigratedStore } from '../open-store.ts';

/** Loaded by the verbs that need it: the other verbs start without the domain service. */
const loadOperator = () => import('../../domains/operator/index.ts');

const whileServing = 'Stop it, run this again, and start it.';

/** Carries out the verb. Throws CommandError. */
export async function ask<Verb extends OperatorVerb>(verb: Verb, request: RequestOf<Verb>): Promise<AnswerOf<Verb>> {
  const { operate, OperatorError } = await loadOperator();
  try {
    return await withMigratedStore(whileServing, ({ db }) => operate({ db, clock: systemClock }, verb, request));
  } catch (error) {
    if (error instanceof OperatorError) throw new CommandError(error.message, { cause: error });
    if (!(error instanceof CommandError && error.cause instanceof FolderInUseError)) throw error;
    return askServer(error, verb, request);
  }
}

/** Of the server that holds the embedded database; `held` says so, and what to do where it does not answer. */
async function askServer<Verb extends OperatorVerb>(
  held: CommandError,
  verb: Verb,
  request: RequestOf<Verb>,
): Promise<AnswerOf<Verb>> {
  const { askOperator, OperatorError, OperatorUnreachableError, operatorSocketPath } = await loadOperator();
  try {
    return await askOperator(operatorSocketPath(loadConfig().dataDir), verb, request);
  } catch (error) {
    if (error instanceof OperatorError) throw new CommandError(error.message, { cause: error });
    if (error instanceof OperatorUnreachableError) {
      throw new CommandError(`${held.message}\nIt was asked, and ${error.message}.`, { cause: error });
    }
    throw error;
  }
}
