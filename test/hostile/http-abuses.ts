/** Requests that are slow, broken, endless or many. */
import type { AbuseEnvironment, HttpAbuse } from './cases.ts';
import { bodyAbuses } from './http/bodies.ts';
import { framingAbuses } from './http/framing.ts';
import { ADDRESS_CONNECTIONS, STALL_SECONDS, slowAbuses } from './http/slow-and-many.ts';

export const abuseEnvironment: AbuseEnvironment = {
  IRONCRAFT_STALL_SECONDS: String(STALL_SECONDS),
  IRONCRAFT_ADDRESS_CONNECTIONS: String(ADDRESS_CONNECTIONS),
};

export const httpAbuses: readonly HttpAbuse[] = [...slowAbuses, ...framingAbuses, ...bodyAbuses];
