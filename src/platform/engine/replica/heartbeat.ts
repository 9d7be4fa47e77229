/** Keeps this replica's lease on its turns alive. A worker of its own, so that no other work delays a heartbeat. */
import type { Database } from '../../../kernel/db/database.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { createPeriodicWorker, type PeriodicWorker } from '../../../kernel/periodic/periodic-worker.ts';
import { HEARTBEAT_MS, removeSilentReplicas, sendHeartbeat } from '../store/replica.ts';

const CLEANUP_MS = 600_000;

export function createHeartbeat(db: Database, replicaId: string, logger: Logger): PeriodicWorker {
  return createPeriodicWorker({
    name: 'heartbeat',
    intervalMs: HEARTBEAT_MS,
    // A lease outlasts a few missed heartbeats, not a longer wait.
    backoff: { firstMs: HEARTBEAT_MS, longestMs: HEARTBEAT_MS },
    logger,
    pass: () => sendHeartbeat(db, replicaId),
  });
}

/** Removes the rows of replicas that are long gone. */
export function createReplicaCleanup(db: Database, logger: Logger): PeriodicWorker {
  return createPeriodicWorker({
    name: 'replica cleanup',
    intervalMs: CLEANUP_MS,
    logger,
    pass: () => removeSilentReplicas(db),
  });
}
