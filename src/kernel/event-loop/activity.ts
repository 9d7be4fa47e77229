/**
 * Whether this process has work. Timers that measure the event loop many times a second run only while it does, so that an idle server
 * is woken by them once in LOOK_MS.
 *
 *   idle ──noteActivity(), beginWork(), or BUSY_MS computed between two looks──▶ active
 *     ▲                                                                            │
 *     └──── a look that finds none of these: no work in progress, LINGER_MS passed ┘
 *
 * What serves a caller or runs a turn or a job announces itself before its first line runs, so that a block of the event loop is seen
 * from its beginning. All other work (a worker that nobody called, a timer of a library) shows at the next look, by the time that the
 * event loop has computed: less than BUSY_MS of it cannot have held a block of that length.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

/** How often an idle process is woken, to learn whether it still is. */
export const LOOK_MS = 2_000;
/** The timers run on for so long after the last activity, at least: an overload is judged by the last second. */
export const LINGER_MS = 2_000;
/** Computing time between two looks that counts as work. */
export const BUSY_MS = 100;

/** Runs while the process is active: at once if it is. */
export interface ActivityFollower {
  start(): void;
  stop(): void;
}

export interface Activity {
  /** Something short happens: a message arrives, a frame is written. Cheap enough to call for each. */
  note(): void;
  /** The process is active until the returned function is called, or `maxMs` have passed. Default: no limit. */
  begin(maxMs?: number): () => void;
  /** The process counts as active when it gets a follower. Returns what ends that. */
  follow(follower: ActivityFollower): () => void;
}

/** Work in progress, and the moment from which it no longer counts. */
interface Work {
  readonly untilMs: number;
}

/** Measures in real time and keeps no process alive. Without a follower it has no timer. */
export function createActivity(): Activity {
  const followers = new Set<ActivityFollower>();
  const inProgress = new Set<Work>();
  /** The timers of the followers must not hold on to the request that happens to start them. */
  const runOutside = AsyncLocalStorage.snapshot();
  let isActive = false;
  let notedAtMs = 0;
  let timer: NodeJS.Timeout | undefined;
  let used = performance.eventLoopUtilization();

  function note(): void {
    notedAtMs = performance.now();
    if (!isActive && timer !== undefined) runOutside(activate);
  }

  function activate(): void {
    isActive = true;
    for (const follower of followers) follower.start();
  }

  function look(): void {
    const before = used;
    used = performance.eventLoopUtilization();
    const nowMs = performance.now();
    for (const work of inProgress) if (work.untilMs <= nowMs) inProgress.delete(work);
    const hasWork = inProgress.size > 0 || nowMs - notedAtMs < LINGER_MS || used.active - before.active >= BUSY_MS;
    if (hasWork === isActive) return;
    if (hasWork) activate();
    else {
      isActive = false;
      for (const follower of followers) follower.stop();
    }
  }

  return {
    note,
    begin(maxMs = Number.POSITIVE_INFINITY) {
      note();
      const work: Work = { untilMs: notedAtMs + maxMs };
      inProgress.add(work);
      return () => {
        if (inProgress.delete(work)) note();
      };
    },
    follow(follower) {
      timer ??= runOutside(() => setInterval(look, LOOK_MS).unref());
      note();
      followers.add(follower);
      runOutside(() => follower.start());
      return () => {
        if (!followers.delete(follower)) return;
        if (isActive) follower.stop();
        if (followers.size > 0) return;
        clearInterval(timer);
        timer = undefined;
        isActive = false;
      };
    },
  };
}

/** That of this process. */
const ofProcess = createActivity();

export const noteActivity = ofProcess.note;
export const beginWork = ofProcess.begin;
export const followActivity = ofProcess.follow;
