import { setImmediate } from 'node:timers/promises';

/** Events may hold large outputs of tools: others get their turn after this many of any size. */
const EVENTS_AT_ONCE = 20;

/** The items, one after the other, with a turn of the event loop after every few. */
export async function* yieldBetween<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % EVENTS_AT_ONCE === 0) await setImmediate();
    yield item;
  }
}
