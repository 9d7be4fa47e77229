/**
 * A smith's place in every rollout of its agent. A rollout to N % takes the smiths whose slot is below N, so a share that
 * grows never drops a smith it had. Slots come from the smith's ordinal within its agent instead of a hash, because a
 * hash is only about right: 61 is coprime to 100, so any 100 consecutive smiths fill each slot once, and near 100 times
 * the golden ratio, so every shorter run of them spreads evenly as well.
 */
const SLOTS = 100;
const STEP = 61;

/** `ordinal`: 1 for the agent's first smith ever, 2 for its second … Returns 0 to 99. */
export function assignRolloutSlot(ordinal: number): number {
  return (ordinal * STEP) % SLOTS;
}

/** The same of an SQL expression of type bigint, as smallint. */
export function rolloutSlotSql(ordinal: string): string {
  return `(((${ordinal}) * ${STEP}) % ${SLOTS})::smallint`;
}
