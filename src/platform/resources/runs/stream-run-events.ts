import { ApiError } from '../../../kernel/http/errors.ts';
import type { EventStream } from '../../../kernel/http/event-stream.ts';
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

function readLastEventId(header: string | string[] | undefined): number {
  if (header === undefined || header === '') return 0;
  const seq = typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : Number.NaN;
  if (Number.isNaN(seq)) {
    throw new ApiError('invalid_request', {
      param: 'Last-Event-ID',
      message: '`Last-Event-ID` must be the `id` of a frame of this run: a whole number.',
    });
  }
  return seq;
}
