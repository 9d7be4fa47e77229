import type { Logger } from '../kernel/log/log.ts';
import { EXIT_FAILURE } from './command-error.ts';

/** What goes wrong outside every request is logged like the rest, and ends the process: its state is not known any more. */
export function reportProcess(logger: Logger): void {
  process.on('uncaughtException', (error, origin) => {
    logger.fatal({ err: error, origin }, 'unexpected error: ending');
    process.exit(EXIT_FAILURE);
  });
  process.removeAllListeners('warning');
  process.on('warning', (warning) =>
    logger.warn({ name: warning.name, detail: warning.message }, 'warning of the runtime'),
  );
  // A reader of the first lines who has left has not asked the server to end.
  process.stdout.on('error', () => undefined);
}
