/**
 * SIGTERM and SIGINT. The first asks the server to stop, at any moment of its life: a server that starts gives up and closes
 * what it opened, one that serves drains. Another one ends the process at once.
 */
import { constants } from 'node:os';
import { elapsedMs } from '../kernel/clock/timers.ts';
import { onStopAsked } from './processes/join-processes.ts';

export interface StopSignals {
  /** Resolves with the first signal. */
  readonly received: Promise<NodeJS.Signals>;
  /** Throws StoppedWhileStarting once there was one: call it between the steps of a start. */
  throwIfReceived(): void;
}

/** The start was given up because of a signal. */
export class StoppedWhileStarting extends Error {
  override readonly name = 'StoppedWhileStarting';
}

/** npm passes a Ctrl-C on to a process that got it from the terminal already: an echo is not a second signal. */
const ECHO_MS = 500;

/** From now on the process answers to the signals, until its end. */
export function listenForStop(): StopSignals {
  const { promise: received, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let first: { readonly signal: NodeJS.Signals; readonly at: number } | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    if (first !== undefined) return;
    first = { signal, at: elapsedMs() };
    resolve(signal);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    const now = elapsedMs();
    if (first === undefined) stop(signal);
    else if (now - first.at > ECHO_MS) process.exit(128 + (constants.signals[signal] ?? 0));
  };
  // At a terminal the signal comes as well, to each process by itself.
  onStopAsked(stop);
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return {
    received,
    throwIfReceived() {
      if (first !== undefined) throw new StoppedWhileStarting(`${first.signal} came while the server was starting`);
    },
  };
}
