/** SIGTERM and SIGINT: the first asks the server to drain, another one ends the process at once. */
import { constants } from 'node:os';

export interface StopSignals {
  /** From now on a signal drains; before, while nothing has been promised to anybody, it ends the process. */
  beginServing(): void;
  /** Resolves with the first signal. */
  readonly received: Promise<NodeJS.Signals>;
}

/** npm passes a Ctrl-C on to a process that got it from the terminal already: an echo is not a second signal. */
const ECHO_MS = 500;

export function listenForStop(): StopSignals {
  const { promise: received, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let serving = false;
  let firstAt: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    const now = performance.now();
    if (serving && firstAt === undefined) {
      firstAt = now;
      resolve(signal);
    } else if (firstAt === undefined || now - firstAt > ECHO_MS) {
      process.exit(128 + (constants.signals[signal] ?? 0));
    }
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return {
    received,
    beginServing() {
      serving = true;
    },
  };
}
