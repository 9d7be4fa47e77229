/** Sends what is due on one replica: woken where deliveries were written, and looking for those whose time has come. */
import { setTimer } from '../clock/timers.ts';
import type { Worker } from '../http/service-lifecycle.ts';
import type { Logger } from '../log/log.ts';
import { createPeriodicWorker } from '../periodic/periodic-worker.ts';
import { Dispatcher, type DispatcherDependencies } from './dispatcher.ts';

/** A wake-up begins at once; this looks for what was lost, and for retries whose time has come. */
const DISPATCH_INTERVAL_MS = 1_000;

export interface DispatchWorkerDependencies<Event> extends Omit<DispatcherDependencies<Event>, 'onRoom'> {
  /** On which the dispatchers of all replicas are woken. */
  readonly channel: string;
  readonly logger: Logger;
}

export interface DispatchWorker extends Worker {
  /** Here; `db.wake` wakes the others. */
  wake(): void;
  drain(timeoutMs: number): Promise<void>;
}

export function createDispatchWorker<Event>(deps: DispatchWorkerDependencies<Event>): DispatchWorker {
  const { channel, db, logger } = deps;
  const dispatcher = new Dispatcher<Event>({ ...deps, onRoom: () => dispatches.wake() });
  const dispatches = createPeriodicWorker({
    name: 'webhook dispatcher',
    intervalMs: DISPATCH_INTERVAL_MS,
    store: db,
    pass: (signal) => dispatcher.dispatch(signal),
    logger,
  });
  const wake = () => dispatches.wake();
  let stopListening: (() => Promise<void>) | undefined;
  const stopLooking = async (): Promise<void> => {
    await stopListening?.();
    stopListening = undefined;
    await dispatches.stop();
  };
  return {
    wake,
    async start() {
      stopListening = await db.listen(channel, wake, wake);
      dispatches.start();
    },
    async drain(timeoutMs) {
      await stopLooking();
      const late = setTimer(() => void dispatcher.stop(), timeoutMs, { keepsProcess: true });
      await dispatcher.drain();
      late.cancel();
    },
    async stop() {
      await stopLooking();
      await dispatcher.stop();
    },
  };
}
