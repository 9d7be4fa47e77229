/** What Slack has told once, and never again: it is not given up because the store stumbles. */
import { sleep } from '../../../../kernel/clock/timers.ts';
import { isStorageFault } from '../../../../kernel/http/storage-faults.ts';

const ATTEMPTS = 20;
const AGAIN_MS = 500;

export async function keepPatiently<T>(keep: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await keep();
    } catch (error) {
      if (attempt === ATTEMPTS || !isStorageFault(error)) throw error;
      await sleep(AGAIN_MS);
    }
  }
}
