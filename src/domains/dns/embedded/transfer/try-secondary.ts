/** Whether a secondary is there, and has the key that we share with it. It is told nothing. */
import { type AskOptions, askSecondary } from './ask-secondary.ts';

const OPCODE_QUERY = 0;
const SOA = 6;
/** Of a name that no secondary has (RFC 6761, 6.4): whatever it answers, it has taken our signature. */
const NO_ZONE = 'secondary-test.invalid';

/** Rejects where no answer comes in time, or one that is not signed as it has to be. */
export async function trySecondary(options: AskOptions): Promise<void> {
  try {
    await askSecondary({ opcode: OPCODE_QUERY, flags: 0, name: NO_ZONE, type: SOA }, options);
  } catch (error) {
    const isLate = error instanceof Error && error.name === 'AbortError';
    throw isLate ? new Error(`no answer within ${options.timeoutMs / 1_000} s`, { cause: error }) : error;
  }
}
