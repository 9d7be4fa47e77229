/** Says that an answer is being written, as long as its turn goes on at this replica. Whether that works is nobody's business. */
import { abortAfter, elapsedMs, setTimer, type Timer } from '../../../kernel/clock/timers.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import type { LiveTurn } from '../../engine/index.ts';
import type { Channel } from '../channel.ts';
import type { WaitingChat, WaitingMessage } from '../inbound/queue-store.ts';
import { openDestination } from './open-destination.ts';

/** An answer that comes at once needs no sign. */
const FIRST_MS = 700;
const EVERY_MS = 4_000;
/** A turn that takes longer says nothing any more. */
const LONGEST_MS = 15 * 60_000;
const CALL_TIMEOUT_MS = 5_000;
const MAX_SHOWN = 200;

export interface Typing {
  show(chat: WaitingChat, last: WaitingMessage, turn: LiveTurn): void;
  stop(): void;
}

export function createTyping({
  channels,
  vault,
}: {
  readonly channels: ReadonlyMap<string, Channel>;
  readonly vault: Pick<Vault, 'open'>;
}): Typing {
  const shown = new Set<Timer>();

  async function showOnce(channel: Channel, chat: WaitingChat, { sealed_reply }: WaitingMessage): Promise<void> {
    const to = await openDestination(vault, channel, chat, sealed_reply);
    if (to !== undefined) await channel.showTyping?.(to, abortAfter(CALL_TIMEOUT_MS));
  }

  return {
    show(chat, last, turn) {
      const channel = channels.get(chat.kind);
      if (channel?.showTyping === undefined || shown.size >= MAX_SHOWN) return;
      const untilMs = elapsedMs() + LONGEST_MS;
      let timer = setTimer(tick, FIRST_MS);
      shown.add(timer);
      function tick(): void {
        shown.delete(timer);
        void showOnce(channel as Channel, chat, last).catch(() => undefined);
        if (elapsedMs() > untilMs) return;
        timer = setTimer(tick, EVERY_MS);
        shown.add(timer);
      }
      void turn.done.finally(() => {
        timer.cancel();
        shown.delete(timer);
      });
    },
    stop() {
      for (const timer of shown) timer.cancel();
      shown.clear();
    },
  };
}
