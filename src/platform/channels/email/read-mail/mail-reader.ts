/**
 * Mail is read in a few child processes, one at a time each: whoever knows an address may send anything there. A child that
 * exceeds its caps, fails or hangs is killed, and takes nothing with it but its mail.
 */
import type { Child } from '../../../../kernel/child-process/child.ts';
import { ChildEndedError } from '../../../../kernel/child-process/child-errors.ts';
import { createChildPool } from '../../../../kernel/child-process/child-pool.ts';
import type { Logger } from '../../../../kernel/log/log.ts';
import type { Metrics } from '../../../../kernel/metrics/metrics.ts';
import type { LookUpDns } from './look-up-dns.ts';
import type { FromMailReader, ReadMail, ToMailReader } from './protocol.ts';

/** Of one mail as it comes. */
export const MAX_MAIL_BYTES = 25 * 1024 * 1024;

export interface MailReader {
  /** Throws `UnreadableMailError` for mail that gives nothing or exceeds a cap. */
  read(projectId: string, raw: Uint8Array): Promise<ReadMail>;
  close(): Promise<void>;
}

/** The message is for whoever sent it. */
export class UnreadableMailError extends Error {
  override readonly name = 'UnreadableMailError';
}

const MEBIBYTE = 1_048_576;
const CHILDREN = 2;
const HEAP_BYTES = 256 * MEBIBYTE;
const RESIDENT_BYTES = 640 * MEBIBYTE;
const ANSWER_BYTES = 32 * MEBIBYTE;
const PROCESSOR_MS = 3_000;
const PROCESSOR_MS_A_MEBIBYTE = 1_000;
/** Of one answer; a machine with no processor to spare fails no innocent mail. */
const ANSWER_MS = 60_000;
/** A mail has a few signatures. What asks for more gets no more answers. */
const MAX_LOOK_UPS = 30;

export interface MailReaderDependencies {
  readonly lookUp: LookUpDns;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export function createMailReader({ lookUp, logger, metrics }: MailReaderDependencies): MailReader {
  const pool = createChildPool<ToMailReader, FromMailReader>({
    name: 'mail reader',
    program: new URL('./read-program.ts', import.meta.url),
    children: CHILDREN,
    heapBytes: HEAP_BYTES,
    residentBytes: RESIDENT_BYTES,
    answerBytes: ANSWER_BYTES,
    givesWay: true,
    ...{ logger, metrics },
  });

  async function readWith(child: Child<ToMailReader, FromMailReader>, raw: Uint8Array): Promise<ReadMail> {
    child.allowProcessorTime(PROCESSOR_MS + (raw.length / MEBIBYTE) * PROCESSOR_MS_A_MEBIBYTE, child.processorMs);
    let message: ToMailReader = { kind: 'open', raw };
    for (let looks = 0; ; looks += 1) {
      const answer = await child.ask(message, { timeoutMs: ANSWER_MS });
      switch (answer.kind) {
        case 'done':
          return answer.mail;
        case 'failed':
          throw new UnreadableMailError(answer.message);
        case 'look-up':
          message =
            looks < MAX_LOOK_UPS ? await lookUp(answer.name, answer.type) : { kind: 'missing', code: 'ENOTFOUND' };
      }
    }
  }

  return {
    async read(projectId, raw) {
      const child = await pool.take(projectId);
      try {
        return await readWith(child, raw);
      } catch (error) {
        if (!(error instanceof ChildEndedError)) throw error;
        throw new UnreadableMailError('The mail takes more time or memory than one may.', { cause: error });
      } finally {
        pool.giveBack(child);
      }
    },
    close: () => pool.close(),
  };
}
