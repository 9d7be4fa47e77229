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
   * reader may then get it twice.
   */
  send(message: Message): Promise<void>;
}

/** `Message-ID` (RFC 5322, 3.6.4) of a message from this address. */
export function messageIdOf(id: string, from: string): string {
  return `<${id}@${from.slice(from.lastIndexOf('@') + 1)}>`;
}
