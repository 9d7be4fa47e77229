/** How many commands a registry takes: of a registrar in a minute, and in one session. */
import type { Clock } from '../../../../kernel/clock/clock.ts';
import type { ChooseDelivery } from './deliveries.ts';

export interface CommandLimits {
  /** Of a registrar, all its sessions together; the next one is answered with 2502, which ends its session. Default: any number. */
  readonly perMinute?: number | undefined;
  /** The next one is answered with 2500, which ends the session, and is not carried out. Default: any number. */
  readonly perSession?: number | undefined;
}

const MINUTE_MS = 60_000;
/** Whatever is wrong, a client may begin and end its session. */
const FREE: readonly string[] = ['login', 'logout'];

/** What goes beyond the limits is refused; `deliver` says what becomes of the rest. */
export function limitCommands(
  { perMinute = Number.POSITIVE_INFINITY, perSession = Number.POSITIVE_INFINITY }: CommandLimits,
  clock: Clock,
  deliver: ChooseDelivery,
): ChooseDelivery {
  let minute = 0;
  let counts = new Map<string, number>();
  return (command) => {
    const { earlier, kind, registrarId = '' } = command;
    if (FREE.includes(kind)) return undefined;
    const now = Math.floor(clock.now().getTime() / MINUTE_MS);
    if (now !== minute) counts = new Map();
    minute = now;
    const count = counts.get(registrarId) ?? 0;
    if (count >= perMinute) return { kind: 'refused', code: 2502 };
    counts.set(registrarId, count + 1);
    return earlier >= perSession ? { kind: 'refused', code: 2500 } : deliver(command);
  };
}
