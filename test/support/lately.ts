/** Times that the service writes, without a duration that a busy machine could exceed: they lie between the start of a test and the look at them. */

/** Numbers of the dialect are whole seconds. */
const WHOLE_SECOND_MS = 1_000;

/** ISO-8601, or milliseconds since 1970. */
type Time = string | number;

/** Returns whether a time, less so many milliseconds, is after this call and has come. */
export function startLately(): (time: Time, laterMs?: number) => boolean {
  const startedMs = Date.now();
  return (time, laterMs = 0) => {
    const ms = (typeof time === 'string' ? Date.parse(time) : time) - laterMs;
    return ms >= startedMs - WHOLE_SECOND_MS && ms <= Date.now() + WHOLE_SECOND_MS;
  };
}
