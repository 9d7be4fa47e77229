/** From the registry's replies to answers on the wire. */
import type { Clock } from '../../../../kernel/clock/clock.ts';
import type { ResultCode } from '../../result-codes.ts';
import type { RegistryCore, Reply, Session } from '../../simulated/index.ts';
import type { MessageQueue } from '../commands/response.ts';
import { EppFault } from '../epp-fault.ts';
import type { XmlElement } from '../xml/element.ts';
import type { ServerHabits } from './habits.ts';

/** What a command is carried out with. */
export interface CommandContext {
  readonly clock: Clock;
  readonly core: RegistryCore;
  readonly session: Session;
  readonly habits: ServerHabits;
  /** Agreed on at login: an answer holds no other extension. */
  readonly extensionUris: ReadonlySet<string>;
}

export interface AnswerParts {
  readonly data?: XmlElement | undefined;
  readonly extensions?: readonly XmlElement[] | undefined;
  readonly queue?: MessageQueue | undefined;
}

export interface Answer extends AnswerParts {
  readonly code: ResultCode;
  readonly reason?: string | undefined;
  /** Absent: the registry has not seen the command, and the session gives it an id. */
  readonly svTRID?: string | undefined;
}

/** `present` is asked for the answer's content when the registry has carried the command out. */
export function answerOf<Data>(reply: Reply<Data>, present: (data: Data) => AnswerParts = () => ({})): Answer {
  const { code, svTRID } = reply;
  if (reply.ok) return { code, svTRID, ...present(reply.data) };
  const reason = reply.element === undefined ? reply.reason : `${reply.element}: ${reply.reason}`;
  return { code, svTRID, reason };
}

/** The one currency of the registry. */
export const CURRENCY = 'EUR';

/** What the client agrees to pay, in cents. 2004 for another currency. */
export function agreedCents(fee: { readonly currency: string; readonly amountCents: number } | undefined) {
  if (fee === undefined) return {};
  if (fee.currency !== CURRENCY) throw new EppFault(2004, `currency: fees are in ${CURRENCY}`);
  return { feeCents: fee.amountCents };
}

/** 2003 for what the registry needs and the standard does not. */
export function required<Value>(value: Value | undefined, name: string): Value {
  if (value === undefined) throw new EppFault(2003, `${name} is missing`);
  return value;
}

/** Only the extensions that were agreed on. */
export function agreedExtensions(
  { extensionUris }: CommandContext,
  extensions: readonly (XmlElement | undefined)[],
): XmlElement[] {
  return extensions.filter((extension) => extension !== undefined).filter(({ uri }) => extensionUris.has(uri));
}
