/** Bounds the runs that one project has in flight on this replica. */
import { ApiError } from '../../../kernel/http/errors.ts';

/** One of a project's places for runs in flight. */
export interface Admission {
  /** Further calls do nothing. */
  release(): void;
}

export interface AdmissionControl {
  /**
   * Takes a place. Throws `service_overloaded` while this replica drains and `concurrency_limit_exceeded` where no place
   * is left.
   */
  admit(projectId: string): Admission;
  /** Takes a place beyond the limit if need be: for a turn that is taken over. */
  reserve(projectId: string): Admission;
}

const CONCURRENCY_RETRY_SECONDS = 1;

export function createAdmissionControl(runsPerProject: number, draining: AbortSignal): AdmissionControl {
  const inFlight = new Map<string, number>();
  const reserve = (projectId: string): Admission => {
    inFlight.set(projectId, (inFlight.get(projectId) ?? 0) + 1);
    let isHeld = true;
    return {
      release() {
        if (!isHeld) return;
        isHeld = false;
        const left = (inFlight.get(projectId) ?? 1) - 1;
        if (left === 0) inFlight.delete(projectId);
        else inFlight.set(projectId, left);
      },
    };
  };
  return {
    reserve,
    admit(projectId) {
      if (draining.aborted) {
        throw new ApiError('service_overloaded', {
          retryAfterSeconds: 1,
          message: 'This server is going away. Try again.',
        });
      }
      if ((inFlight.get(projectId) ?? 0) < runsPerProject) return reserve(projectId);
      throw new ApiError('concurrency_limit_exceeded', { retryAfterSeconds: CONCURRENCY_RETRY_SECONDS });
    },
  };
}
