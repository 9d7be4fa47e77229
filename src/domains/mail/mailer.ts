/** The port to e-mail. Adapters: a mail server (`smtp-mailer.ts`), and a folder of files where there is none. */

export interface Message {
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
