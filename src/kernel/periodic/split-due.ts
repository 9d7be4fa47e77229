/** What a pass has read in the order in which it comes due: what is due by now, and how long it is until the next is. */
export interface SplitDue<Row> {
  readonly due: Row[];
  /** Milliseconds; undefined: nothing that was read is still to come. */
  readonly nextInMs: number | undefined;
}

export function splitDue<Row>(rows: readonly Row[], dueAt: (row: Row) => Date | null, now: Date): SplitDue<Row> {
  const waitMs = (row: Row) => (dueAt(row) ?? now).getTime() - now.getTime();
  const next = rows.find((row) => waitMs(row) > 0);
  return {
    due: rows.filter((row) => waitMs(row) <= 0),
    nextInMs: next === undefined ? undefined : waitMs(next),
  };
}
