/** Where a process's log goes: JSON lines for machines, lines for people where a person watches. */
import { type DestinationStream, pino } from 'pino';
import type { LogFormat } from '../config/config.ts';

const STANDARD_ERROR = 2;
/** Of lines that could not be written, which the next one tries again; later ones are lost. */
const MAX_UNWRITTEN_BYTES = 1_048_576;

/** Standard error, written at once: what was logged last is what a crash leaves behind. `auto` asks whether it is a terminal. */
export async function openLogOutput(format: LogFormat, isTerminal: boolean): Promise<DestinationStream> {
  if (format === 'json' || (format === 'auto' && !isTerminal)) {
    return openStandardError();
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

/** JSON lines on standard error. A disk that is full takes the log, and not the process. */
export function openStandardError(): DestinationStream {
  const output = pino.destination({ dest: STANDARD_ERROR, sync: true, maxLength: MAX_UNWRITTEN_BYTES });
  // With no listener it would be thrown at whoever logs.
  output.on('error', () => undefined);
  return output;
}
