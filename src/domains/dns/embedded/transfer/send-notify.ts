/** Tells a secondary that a zone has changed (NOTIFY, RFC 1996), and waits for its acknowledgement. */
import { type AskOptions, askSecondary } from './ask-secondary.ts';

export interface NotifyOptions extends AskOptions {
  readonly zoneName: string;
}

const OPCODE_NOTIFY = 4;
const AUTHORITATIVE = 0x0400;
const SOA = 6;

/** Rejects where none comes in time, or one that refuses. */
export async function sendNotify({ zoneName, ...options }: NotifyOptions): Promise<void> {
  const question = { opcode: OPCODE_NOTIFY, flags: AUTHORITATIVE, name: zoneName, type: SOA };
  const code = await askSecondary(question, options);
  if (code !== 0) throw new Error(`${options.secondary.address} answered with the code ${code}`);
}
