/** The port to e-mail. Adapters: a mail server (`smtp-mailer.ts`), and a folder of files where there is none. */

export interface Message {
  /** Begins with `msg_`. One that is sent twice has it both times, by which mail programs show it once. Default: a new one. */
  readonly id?: string;
  /** One address. */
  readonly to: string;
  readonly subject: string;
  /** Plain text, with `\n` between lines. */
  readonly text: string;
}

export interface Mailer {
  /**
   * Resolves once the message is accepted for delivery. Rejects when that is not certain; sending it again is safe, but its
   * reader may then get it twice. With `RecipientRefused` where it is certain that the address takes no mail.
   */
  send(message: Message): Promise<void>;
}

/** The mail server says that the address takes no mail, and will not later (RFC 5321 4.2.1: 5yz). */
export class RecipientRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'RecipientRefused';
  }
}

/** `Message-ID` (RFC 5322, 3.6.4) of a message from this address. */
export function messageIdOf(id: string, from: string): string {
  return `<${id}@${from.slice(from.lastIndexOf('@') + 1)}>`;
}
