/**
 * What becomes of a command between a client and the registry, as networks and registries have it now and then. A client that gets no
 * answer cannot tell which.
 */
import { createHash } from 'node:crypto';
import type { EppCommand } from '../commands/command.ts';

export type Delivery =
  /** It is not carried out, and nothing is answered. */
  | { readonly kind: 'silent' }
  /** It is carried out at once, and answered so much later. */
  | { readonly kind: 'slow'; readonly delayMs: number }
  /** It is not carried out; 2500 and 2502 end the session. */
  | { readonly kind: 'refused'; readonly code: 2104 | 2500 | 2502 }
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

export interface RandomDeliveries {
  /** Shares of the commands about names. */
  readonly silentShare: number;
  readonly cutShare: number;
  /** Of all the others. */
  readonly slowMs: number;
  readonly seed: number;
}

/** The same commands for the same seed and the same order of commands. */
export function deliverAtRandom({ silentShare, cutShare, slowMs, seed }: RandomDeliveries): ChooseDelivery {
  let count = 0;
  return ({ kind }) => {
    if (!kind.startsWith('domain:')) return undefined;
    count += 1;
    const digest = createHash('sha256').update(`delivery ${seed} ${count}`).digest();
    const drawn = digest.readUInt32BE(0) / 2 ** 32;
    if (drawn < silentShare) return { kind: 'silent' };
    if (drawn < silentShare + cutShare) return { kind: 'cut' };
    return slowMs > 0 ? { kind: 'slow', delayMs: slowMs } : undefined;
  };
}
