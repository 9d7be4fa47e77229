/** Where a process's log goes: JSON lines for machines, lines for people where a person watches. */
import { type DestinationStream, pino } from 'pino';
import type { LogFormat } from '../config/config.ts';

const STANDARD_ERROR = 2;

/** Standard error, written at once: what was logged last is what a crash leaves behind. `auto` asks whether it is a terminal. */
export async function openLogOutput(format: LogFormat, isTerminal: boolean): Promise<DestinationStream> {
  if (format === 'json' || (format === 'auto' && !isTerminal)) {
    return pino.destination({ dest: STANDARD_ERROR, sync: true });
  }
  // Loaded for people alone: a service's start does not wait for it.
  const { default: pretty } = await import('pino-pretty');
  return pretty({
    destination: STANDARD_ERROR,
    sync: true,
    colorize: isTerminal,
    ignore: 'pid,requestId',
    singleLine: true,
  });
}
