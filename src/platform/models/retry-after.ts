/**
 * Seconds to wait as a provider's headers say: `retry-after-ms` (OpenAI's own), else `Retry-After` in seconds or as an
 * HTTP date (RFC 9110, section 10.2.3). Undefined when absent or unreadable; 0 for a date gone by. `nowMs` is wall time.
 */
export function readRetryAfter(
  headers: Readonly<Record<string, string | undefined>> | undefined,
  nowMs: number,
): number | undefined {
  const milliseconds = headers?.['retry-after-ms'];
  if (milliseconds !== undefined && /^\d+(\.\d+)?$/.test(milliseconds)) return Number(milliseconds) / 1000;
  const value = headers?.['retry-after']?.trim();
  if (value === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - nowMs) / 1000);
}
