/**
 * Where each of many operations is tried with each of many inputs, the gate tries each operation with a few of them, in turns, so
 * that every input meets some operations and every operation some inputs. The soak tries them all.
 */
export type Share = 'all' | 'some';

/** All of the items, or the few (`count`) that are the turn of the operation at this index. */
export function takeTurns<Item>(share: Share, items: readonly Item[], index: number, count: number): readonly Item[] {
  if (share === 'all' || items.length <= count) return items;
  return Array.from({ length: count }, (_, at) => items[(index * count + at) % items.length] as Item);
}
