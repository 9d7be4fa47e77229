/** Lets pg-boss run its SQL on our port, on either store and inside a caller's transaction. */

import type { Db } from 'pg-boss';
import type { Database, Executor } from '../db/database.ts';
import { asLook } from '../db/looks.ts';
import { json } from '../db/values.ts';

export interface WakeUps {
  /** Jobs of this name may be ready. */
  wake(name: string): void;
  /** Wake-ups may have been missed. */
  wakeAll(): void;
}

/**
 * With a listener the adapter serves a whole pg-boss; without, one call in the caller's transaction. What pg-boss does by itself is no
 * use of the store: it wakes whoever has a job to run, and what a job does is.
 */
export function adaptExecutor(executor: Executor, listener?: Database, wakeUps?: WakeUps): Db {
  const executeSql: Db['executeSql'] = async (text, values) => {
    // pg-boss writes scripts with BEGIN and COMMIT, always without values.
    const statement = values === undefined || values.length === 0 ? { text } : { text, values: values.map(toSql) };
    const { rows } = await (listener === undefined ? executor : asLook(executor)).query(statement);
    return { rows };
  };
  if (listener === undefined) return { executeSql };
  return {
    executeSql,
    async listen(channel, onNotification, onReconnect) {
      const onMessage = (name: string): void => {
        onNotification(name);
        wakeUps?.wake(name);
      };
      const onGap = (): void => {
        onReconnect();
        wakeUps?.wakeAll();
      };
      const close = await listener.listen(channel, onMessage, onGap);
      return { close };
    },
  };
}

/** pg-boss passes objects where it means jsonb and arrays where it means SQL arrays. */
function toSql(value: unknown): unknown {
  const isPlainObject =
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Date) &&
    !ArrayBuffer.isView(value);
  return isPlainObject ? json(value) : value;
}
