/**
 * Ends what is streamed to callers whose token has ended meanwhile: revoked, expired, or of something that is gone. Each token with
 * open streams is looked at once a second, by the same question that each request asks.
 */
import { setTicker, type Timer } from '../clock/timers.ts';
import { ApiError } from './errors.ts';

const LOOK_MS = 1_000;

export interface StandingWatch {
  /** Calls `end` once the token of this header no longer stands. Call what it gives when the stream is over. */
  watch(authorization: string, end: () => void): () => void;
}

export function createStandingWatch(authenticate: (authorization: string) => Promise<unknown>): StandingWatch {
  const watched = new Map<string, Set<() => void>>();
  let timer: Timer | undefined;
  let isLooking = false;

  async function lookAtAll(): Promise<void> {
    // One that takes longer than a second is not asked again meanwhile.
    if (isLooking) return;
    isLooking = true;
    await Promise.all([...watched.keys()].map(look));
    isLooking = false;
  }

  async function look(authorization: string): Promise<void> {
    try {
      await authenticate(authorization);
    } catch (error) {
      // A store that fails says nothing of the token.
      if (!(error instanceof ApiError)) return;
      for (const end of watched.get(authorization) ?? []) end();
    }
  }

  return {
    watch(authorization, end) {
      const ends = watched.get(authorization) ?? new Set();
      watched.set(authorization, ends.add(end));
      timer ??= setTicker(() => void lookAtAll(), LOOK_MS);
      return () => {
        ends.delete(end);
        if (ends.size > 0 || watched.get(authorization) !== ends) return;
        watched.delete(authorization);
        if (watched.size > 0) return;
        timer?.cancel();
        timer = undefined;
      };
    },
  };
}
