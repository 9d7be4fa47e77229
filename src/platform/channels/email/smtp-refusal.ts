/** What a mail server's refusal means for the mail (RFC 5321, 4.2). */
import { SendFailure } from '../channel.ts';

/** The recipient is refused for good: nothing is sent there any more. */
export class RecipientRefused extends SendFailure {
  constructor(message: string, cause: unknown) {
    super('refused', message, { cause });
    this.name = 'RecipientRefused';
  }
}

/** Before its content leaves, nothing has arrived. */
const LATE_COMMANDS = new Set(['DATA', 'BDAT']);
/** Of addresses that are not there; other refusals may be for the sender's sake (RFC 3463, 3.2). */
const NO_SUCH_ADDRESS =
  /\b5\.1\.[0-36]\b|user unknown|no such (?:user|mailbox|address|recipient)|mailbox (?:not found|unavailable)/i;

export function refusalOf(error: unknown): SendFailure {
  const { code, responseCode, command, response } = error as Partial<Record<string, unknown>>;
  const said = typeof response === 'string' ? response : error instanceof Error ? error.message : 'no answer';
  const message = `The mail server: ${said.slice(0, 300).toWellFormed()}`;
  const status = typeof responseCode === 'number' ? responseCode : 0;
  const isForLater = status < 500 || code === 'EAUTH' || command === 'MAIL FROM';
  if (status >= 400 && isForLater) return new SendFailure('unavailable', message, { cause: error });
  if (status >= 500) {
    const isGone =
      command === 'RCPT TO' && (status === 550 || status === 551 || status === 553) && NO_SUCH_ADDRESS.test(said);
    return isGone ? new RecipientRefused(message, error) : new SendFailure('refused', message, { cause: error });
  }
  return new SendFailure(LATE_COMMANDS.has(String(command)) ? 'unknown' : 'unavailable', message, { cause: error });
}
