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

let isKept = false;
const open = new Set<Kept>();

/** Nothing is closed from here on, until `closeShared`. */
export function keepShared(): void {
  isKept = true;
}

export async function closeShared(): Promise<void> {
  isKept = false;
  for (const kept of open) await kept.close();
}

/** Returns what borrows the one thing that `make` makes. */
export function shareInProcess<Value extends Kept>(make: () => Promise<Value>): () => Promise<Borrowed<Value>> {
  let current: Promise<Value> | undefined;
  let users = 0;
  const close = async (): Promise<void> => {
    const closing = current;
    current = undefined;
    await (await closing)?.close();
  };
  const kept: Kept = { close };
  return async () => {
    users += 1;
    current ??= make().catch((error: unknown) => {
      current = undefined;
      throw error;
    });
    open.add(kept);
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
