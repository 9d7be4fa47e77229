/**
 * Pieces of work that hold the event loop for tens of milliseconds each, such as the parsing of a large body, run in iterations of their
 * own: `setImmediate` alone runs all that was asked for meanwhile in one go, so that sixteen large bodies would be one long block.
 */
const waiting: (() => void)[] = [];

/** Resolves in an iteration of the event loop in which it resolves for nobody else. First come, first served. */
export function ownIteration(): Promise<void> {
  return new Promise((resolve) => {
    // One that is asked for while events are handled would run at the end of that same iteration, after what asked for it.
    if (waiting.push(resolve) === 1) setImmediate(() => setImmediate(resolveNext));
  });
}

function resolveNext(): void {
  const resolve = waiting.shift();
  // An immediate that is asked for in an immediate runs in the next iteration.
  if (waiting.length > 0) setImmediate(resolveNext);
  resolve?.();
}
