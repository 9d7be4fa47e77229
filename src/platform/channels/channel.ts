/** A messaging channel: how what people write is read, and how answers are sent. One folder a kind; the rest is the same for all. */
import type { Readable } from 'node:stream';
import type { TenantTransaction } from '../store/tenant-db.ts';
import type { JsonObject, MessagingKind } from '../tables.ts';

/** What somebody wrote, in the words of no channel. Read from a request whose signature has been checked. */
export interface InboundMessage {
  /** Of the account: a repetition has the same. */
  readonly idempotencyKey: string;
  /** Shown on the inbound event: `message`, or what else the kind has (`command`, `interaction`). */
  readonly type: string;
  /** Of the person, as `deployments.address` has it. */
  readonly sender: string;
  /** Where the conversation is and answers go: a chat, a channel with its thread. Unique within the account. */
  readonly chat: string;
  /** One line for whoever reads the list of events: who wrote where. */
  readonly subject: string;
  readonly text: string;
  readonly attachments: readonly InboundAttachment[];
  /** Belongs together with the messages of the same group (an album): they go into one turn. */
  readonly group?: string | undefined;
  /** What the answer needs and nobody may read: sealed until it is sent (an interaction's token). */
  readonly reply?: string | undefined;
  /** Whom it was sent to, where its address says so (a mailbox, an app of a smith's own); else its sender decides. */
  readonly deploymentId?: string | undefined;
  /**
   * `noted`: it begins no turn, whomever it reaches, and `type` says why. `unbound`: it reaches nobody. Absent: `deploymentId` or
   * the sender decides.
   */
  readonly fate?: 'noted' | 'unbound' | undefined;
  /** The provider's payload, without credentials. */
  readonly data: JsonObject;
}

/** A file that came with a message, as its provider names it. */
export interface InboundAttachment {
  readonly ref: string;
  readonly filename: string;
  readonly mediaType: string | undefined;
  /** Undefined: not told. */
  readonly bytes: number | undefined;
}

/** An account with its secrets in the clear: for the length of a call. */
export interface OpenAccount {
  readonly projectId: string;
  readonly kind: MessagingKind;
  readonly accountId: string;
  readonly settings: JsonObject;
  readonly secrets: Readonly<Record<string, string>>;
}

export interface Destination {
  readonly account: OpenAccount;
  readonly chat: string;
  readonly sender: string;
  readonly reply: string | undefined;
}

export interface ComposedAnswer {
  /** Markdown. */
  readonly text: string;
  readonly files: readonly AnswerFile[];
  readonly suggestedReplies: readonly string[];
}

export interface AnswerFile {
  readonly fileId: string;
  readonly filename: string;
  readonly mediaType: string;
  /** Undefined in parts that were planned before this was kept. */
  readonly bytes?: number | undefined;
}

/** One message of an answer. JSON: it is stored. */
export type MessagePart =
  | {
      readonly type: 'text';
      /** With the channel's markup. */
      readonly text: string;
      /** The same without markup: sent where the provider cannot read `text`. */
      readonly plain: string;
      readonly replies?: readonly string[];
      /** Go along in the same message, where the channel has such. */
      readonly files?: readonly AnswerFile[];
      /** Of this part alone, where the channel lets its sender name messages. */
      readonly key?: string;
    }
  | { readonly type: 'file'; readonly file: AnswerFile };

export interface SendOptions {
  /** The provider could not read the markup before. */
  readonly asPlain: boolean;
  /**
   * The message in which pieces of the answer stand: the part takes its place. Where that cannot be, it is sent like any
   * other, and the message goes.
   */
  readonly replaces?: string;
  readonly openFile: (fileId: string) => Promise<Readable>;
  readonly signal: AbortSignal;
}

/** Where pieces of an answer are shown. */
export interface LivePlace {
  /** The least time between two calls for one answer. */
  readonly paceMs: number;
  /** What is shown stays so long and goes by itself: it is shown again in time. Absent: it stays. */
  readonly lifetimeMs?: number;
}

export interface ShowOptions {
  /** What `open` gave. */
  readonly message: string | undefined;
  /** The run: the same for all pieces of an answer. */
  readonly key: string;
  /** The text that stands there, as it was last shown; empty at first. */
  readonly shown: string;
  readonly signal: AbortSignal;
}

/**
 * Pieces of an answer while its turn goes on. None of it holds the answer up, which takes the place of what is shown, also
 * when the replica that showed it has died. Calls throw `SendFailure`: `paused` and `unavailable` are tried later, after
 * others nothing more is shown.
 */
export interface LiveAnswers {
  /** Undefined: nothing can be shown there. */
  at(to: Destination): LivePlace | undefined;
  /**
   * The message that pieces will stand in, with nothing of the answer in it: its id is stored before anything is shown. Undefined
   * where what is shown is no message, and leaves none behind.
   */
  open(to: Destination, signal: AbortSignal): Promise<string | undefined>;
  /** Shows the text so far: Markdown that may end within a mark. It mentions nobody. */
  show(to: Destination, text: string, options: ShowOptions): Promise<void>;
  /** Takes the message away. One that is gone is no failure. */
  remove(to: Destination, message: string, signal: AbortSignal): Promise<void>;
}

export interface Channel {
  readonly kind: MessagingKind;
  /** The least time between two sends; 0: none. */
  readonly pace: { readonly accountMs: number; readonly chatMs: number };
  /** The account that a deployment is reached through; undefined where there is none. Without a deployment: the project's. */
  openAccount(projectId: string, deploymentId: string | undefined): Promise<OpenAccount | undefined>;
  /** Kept as the account's last error. `to`: whom it was for, who will not get it; without a smith where none could be made. */
  noteFailure(
    account: OpenAccount,
    error: { readonly code: string; readonly message: string },
    to: { readonly deploymentId: string; readonly smithId: string | null; readonly sender: string },
  ): Promise<void>;
  /** Where somebody who has this start token begins. */
  startLinks(
    account: Pick<OpenAccount, 'accountId' | 'settings'>,
    token: string,
  ): { readonly deep_link?: string | undefined; readonly prefilled_message?: string | undefined };
  /**
   * What whoever makes a deployment passes on to somebody who installs the app for it; written with the deployment. Undefined
   * where that is done. Absent: nothing is to be installed.
   */
  invite?(
    tx: TenantTransaction,
    deployment: { readonly id: string; readonly address: string | null },
    account: Pick<OpenAccount, 'accountId' | 'settings'>,
  ): Promise<{ readonly install_url: string; readonly state: string } | undefined>;
  /**
   * What an answer becomes, in order; the parts together are the whole answer. The same answer always makes the same parts;
   * `key` is its own. Each is made as it is taken, so that a long answer holds nobody up.
   */
  compose(answer: ComposedAnswer, key: string): Iterable<MessagePart>;
  /** Answers the provider's id of the message. Throws `SendFailure`; whatever else is thrown counts as `unknown`. */
  send(to: Destination, part: MessagePart, options: SendOptions): Promise<string | undefined>;
  /** The provider's id of a part of unknown outcome; undefined where it has not arrived. Absent: the provider cannot say. */
  findSent?(to: Destination, part: MessagePart, sentAfter: Date, signal: AbortSignal): Promise<string | undefined>;
  /** Absent: nothing is shown of an answer before it is sent. */
  readonly live?: LiveAnswers;
  /** Says that an answer is being written, repeated every few seconds while the turn goes on; whether it works is nobody's business. */
  showTyping?(to: Destination, signal: AbortSignal): Promise<void>;
  /**
   * Takes down what shows that an answer is being written to a message that gets none of its own: it was answered together
   * with a later one, or stopped. Whether it works is nobody's business. Absent: nothing shows it for long.
   */
  dismiss?(to: Destination, signal: AbortSignal): Promise<void>;
  /**
   * What a file is of which its message tells too little; else as it is told. Throws as `openAttachment`, which is given what
   * comes of it. Absent: messages tell everything.
   */
  lookUpAttachment?(
    account: OpenAccount,
    attachment: InboundAttachment,
    signal: AbortSignal,
  ): Promise<InboundAttachment>;
  /** Throws `AttachmentFailure` (final: too large, gone), or whatever else (tried again). */
  openAttachment(account: OpenAccount, attachment: InboundAttachment, signal: AbortSignal): Promise<Readable>;
}

/**
 * `unreadable`: send it plain. `paused`: the bucket waits for `retryAfterMs`. `unknown`: it may have arrived. `refused`:
 * never. `unavailable`: it has not arrived and is sent later.
 */
export type SendFailureKind = 'unreadable' | 'paused' | 'unknown' | 'refused' | 'unavailable';

/** Why a part was not sent. The message is for the tenant: it holds no secret. */
export class SendFailure extends Error {
  readonly kind: SendFailureKind;
  readonly retryAfterMs: number | undefined;
  readonly bucket: 'chat' | 'account';

  constructor(
    kind: SendFailureKind,
    message: string,
    options: {
      readonly retryAfterMs?: number | undefined;
      readonly bucket?: 'chat' | 'account';
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'SendFailure';
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
    this.bucket = options.bucket ?? 'chat';
  }
}

/** A file that came with a message and cannot be had. The message is for the model: why it lacks the file. */
export class AttachmentFailure extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'AttachmentFailure';
  }
}
