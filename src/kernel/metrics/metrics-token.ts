/** Who may read metrics, where the operator has set a token. */
import { createHash, timingSafeEqual } from 'node:crypto';

/** Whether the header `Authorization` holds the token. Takes the same time whatever it holds. */
export function holdsMetricsToken(authorization: string | undefined, token: string): boolean {
  return timingSafeEqual(digest(authorization ?? ''), digest(`Bearer ${token}`));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
