/** What the process that reads mail and its parent say to each other. Each message is the answer to the last one. */

export type ToMailReader =
  | { readonly kind: 'open'; readonly raw: Uint8Array }
  /** What a look-up has given, or the code that it failed with. */
  | { readonly kind: 'found'; readonly records: unknown }
  | { readonly kind: 'missing'; readonly code: string };

export type FromMailReader =
  | { readonly kind: 'look-up'; readonly name: string; readonly type: string }
  | { readonly kind: 'done'; readonly mail: ReadMail }
  | { readonly kind: 'failed'; readonly message: string };

/** Whether who stands in `From` has sent it. `unknown`: the DNS could not be asked. */
export interface Authentication {
  readonly result: 'pass' | 'fail' | 'unknown';
  /** For whoever reads the event. */
  readonly detail: string;
}

/** What a mail server could not deliver, or somebody complained of. */
export interface MailReport {
  readonly kind: 'bounce' | 'complaint';
  readonly addresses: readonly string[];
  readonly detail: string;
  /** The `Message-ID` of ours that it is about. */
  readonly about: string;
}

export interface MailFile {
  readonly filename: string;
  readonly mediaType: string;
  readonly content: Uint8Array;
}

/** Addresses are in lower case; texts as somebody wrote them. */
export interface ReadMail {
  /** Empty where there is not exactly one. */
  readonly from: string;
  readonly to: readonly string[];
  /** Whom the server that delivered it says that it is for. */
  readonly deliveredTo: readonly string[];
  readonly subject: string;
  readonly date: string;
  /** With its brackets; empty where there is none. */
  readonly messageId: string;
  /** Oldest first, what it answers at the end. */
  readonly references: readonly string[];
  readonly text: string;
  readonly files: readonly MailFile[];
  readonly authentication: Authentication;
  /** Why no person has written it; undefined where one may have. */
  readonly automatic: string | undefined;
  readonly report: MailReport | undefined;
}
