/** How many calls there are at once on one replica. */
const MAX_CALLS = 500;
const MAX_CALLS_OF_PROJECT = 100;

export interface CallLimits {
  isFull(projectId: string): boolean;
  /** One more call; what ends it. Undefined where there is no room. */
  begin(projectId: string): (() => void) | undefined;
}

export function createCallLimits(): CallLimits {
  const calls = new Map<string, number>();
  let total = 0;
  const isFull = (projectId: string) => total >= MAX_CALLS || (calls.get(projectId) ?? 0) >= MAX_CALLS_OF_PROJECT;

  function count(projectId: string, change: 1 | -1): void {
    total += change;
    const left = (calls.get(projectId) ?? 0) + change;
    if (left === 0) calls.delete(projectId);
    else calls.set(projectId, left);
  }

  return {
    isFull,
    begin(projectId) {
      if (isFull(projectId)) return undefined;
      count(projectId, 1);
      return () => count(projectId, -1);
    },
  };
}
