/** Room for bundles that are on their way: each is held in memory until it is whole. */
import { ApiError } from '../../../../kernel/http/errors.ts';

/** Of all projects together, and of one: more than one bundle, and what is lost to blocks. */
const MAX_BYTES = 256 * 1024 * 1024;
const MAX_PROJECT_BYTES = 96 * 1024 * 1024;
const RETRY_AFTER_SECONDS = 5;

export interface HeldShare {
  /** Throws `service_overloaded`. */
  take(bytes: number): void;
  /** Gives back what was taken; a second time it does nothing. */
  release(): void;
}

export class HeldBytes {
  readonly #byProject = new Map<string, number>();
  #total = 0;

  open(projectId: string): HeldShare {
    let taken = 0;
    return {
      take: (bytes) => {
        const own = this.#byProject.get(projectId) ?? 0;
        if (own + bytes > MAX_PROJECT_BYTES || this.#total + bytes > MAX_BYTES) throw tooMuch();
        this.#add(projectId, bytes);
        taken += bytes;
      },
      release: () => {
        this.#add(projectId, -taken);
        taken = 0;
      },
    };
  }

  #add(projectId: string, bytes: number): void {
    this.#total += bytes;
    const own = (this.#byProject.get(projectId) ?? 0) + bytes;
    if (own === 0) this.#byProject.delete(projectId);
    else this.#byProject.set(projectId, own);
  }
}

function tooMuch(): ApiError {
  return new ApiError('service_overloaded', {
    message: `Too many bundles are arriving. Retry after ${RETRY_AFTER_SECONDS} s.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
