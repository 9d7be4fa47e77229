import type { EventStream } from '../../../kernel/http/event-stream.ts';
import { readLastEventId } from '../../../kernel/http/last-event-id.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { type Engine, getRun } from '../../engine/index.ts';
import { streamAfter } from './answer-turn.ts';
import type { RunPath } from './schema.ts';

/** From the beginning, or behind `Last-Event-ID`. */
export function streamRunEvents(engine: Engine) {
  return async ({ db, params, headers }: ProjectRead<{ params: RunPath }>): Promise<EventStream> => {
    const run = await getRun(db, params.rid, params.sid);
    return streamAfter(engine, run, readLastEventId(headers['last-event-id']));
  };
}
