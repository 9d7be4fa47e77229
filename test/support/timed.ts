/** How long something takes in this process, without the times in which a busy machine, or somebody else's work in it, kept the process from running. */

const LOOK_MS = 20;
/** A look that comes no later than this counts as one in time. */
const LATE_MS = 50;

/** The answer, and milliseconds. */
export async function timed<Answer>(work: () => Promise<Answer>): Promise<[answer: Answer, ms: number]> {
  const begunMs = performance.now();
  let lookedMs = begunMs;
  let stalledMs = 0;
  const look = () => {
    const nowMs = performance.now();
    stalledMs += Math.max(0, nowMs - lookedMs - LATE_MS);
    lookedMs = nowMs;
  };
  const timer = setInterval(look, LOOK_MS);
  try {
    const answer = await work();
    look();
    return [answer, performance.now() - begunMs - stalledMs];
  } finally {
    clearInterval(timer);
  }
}
