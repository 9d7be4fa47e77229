/**
 * What becomes of a command between a client and the registry, as networks and registries have it now and then. A client that gets no
 * answer cannot tell which.
 */
import type { ResultCode } from '../../result-codes.ts';
import type { EppCommand } from '../commands/command.ts';

export type Delivery =
  /** It is not carried out, and nothing is answered. */
  | { readonly kind: 'silent' }
  /** It is carried out at once, and answered so much later. */
  | { readonly kind: 'slow'; readonly delayMs: number }
  /** It is not carried out; codes from 2500 on end the session. */
  | { readonly kind: 'refused'; readonly code: ResultCode }
  /** It is carried out, and answered with something else. */
  | { readonly kind: 'altered'; readonly alter: (xml: string) => string }
  /** It is carried out, and the connection is cut in place of an answer. */
  | { readonly kind: 'cut' };

/** `kind` is that of the command, such as `domain:create`; `name` that of its object, and empty where it has none. */
export interface DeliveredCommand {
  readonly kind: EppCommand['kind'];
  readonly name: string;
  readonly registrarId: string | undefined;
  /** Commands of its session before it, the login not counted. */
  readonly earlier: number;
}

/** Undefined: it is carried out and answered. */
export type ChooseDelivery = (command: DeliveredCommand) => Delivery | undefined;

export function describeDelivered(
  command: EppCommand,
  session: Pick<DeliveredCommand, 'earlier' | 'registrarId'>,
): DeliveredCommand {
  const { kind } = command;
  if ('names' in command) return { ...session, kind, name: command.names[0]?.toLowerCase() ?? '' };
  return { ...session, kind, name: 'name' in command ? command.name.toLowerCase() : '' };
}
