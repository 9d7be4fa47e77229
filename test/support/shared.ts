/**
 * What the test files of one process share because it is dear to make. It is made when it is first asked for. Where one
 * file is the whole process it is closed with its last user; the runner keeps it until its last file.
 */
export interface Borrowed<Value> {
  readonly value: Value;
  /** Must be called by whoever borrowed it, once. */
  release(): Promise<void>;
}

interface Kept {
  close(): Promise<void>;
}

interface Shared extends Kept {
  readonly users: number;
  /** Since somebody has borrowed it. */
  idleFiles: number;
}

/** A server that nobody uses computes all the same: what it looks for once a second costs as much as its start within half a minute. */
const MAX_IDLE_FILES = 4;

let isKept = false;
const open = new Set<Shared>();

/** Nothing is closed from here on, until `closeShared`. */
export function keepShared(): void {
  isKept = true;
}

export async function closeShared(): Promise<void> {
  isKept = false;
  for (const kept of open) await kept.close();
}

/** For whoever runs one file after the other: one has ended, and what several in a row have had no use for is closed. */
export async function endFile(): Promise<void> {
  for (const shared of open) {
    if (shared.users > 0) continue;
    shared.idleFiles += 1;
    if (shared.idleFiles >= MAX_IDLE_FILES) await shared.close();
  }
}

/** Returns what borrows the one thing that `make` makes. */
export function shareInProcess<Value extends Kept>(make: () => Promise<Value>): () => Promise<Borrowed<Value>> {
  let current: Promise<Value> | undefined;
  let users = 0;
  const close = async (): Promise<void> => {
    const closing = current;
    current = undefined;
    open.delete(shared);
    await (await closing)?.close();
  };
  const shared: Shared = {
    close,
    get users() {
      return users;
    },
    idleFiles: 0,
  };
  return async () => {
    users += 1;
    shared.idleFiles = 0;
    current ??= make().catch((error: unknown) => {
      current = undefined;
      throw error;
    });
    open.add(shared);
    const value = await current;
    return {
      value,
      async release() {
        users -= 1;
        if (users === 0 && !isKept) await close();
      },
    };
  };
}
