/** Where what is tested logs to: nowhere, unless all that the tests log is being kept (`npm run test:secrets`). */
import { join } from 'node:path';
import { pino } from 'pino';
import { createLogger, type Logger } from '../../src/kernel/log/log.ts';

/** Undefined where nothing is kept. */
export const logFolder = process.env.TEST_LOG_FOLDER;

/** What servers that are started load first then. */
export const recorder = new URL('../secrets/record-secrets.ts', import.meta.url).href;

export function openTestLogger(): Logger {
  if (logFolder === undefined) return createLogger({ logLevel: 'silent' });
  const dest = join(logFolder, `${process.pid}.log`);
  return createLogger({ logLevel: 'trace' }, pino.destination({ dest, sync: true }));
}
