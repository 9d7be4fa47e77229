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
   * Resolves once the message is in other hands. Rejects when it is not known to be; sending it again is safe for the
   * sender, and its reader may then have it twice.
   */
  send(message: Message): Promise<void>;
}
