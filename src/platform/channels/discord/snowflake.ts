/** Ids of Discord, which hold when they were made. */

const EPOCH_MS = 1_420_070_400_000n;

export function isSnowflake(value: unknown): value is string {
  return typeof value === 'string' && /^\d{15,20}$/.test(value);
}

export function timeOfSnowflake(id: string): Date {
  return new Date(Number((BigInt(id) >> 22n) + EPOCH_MS));
}
