import { ApiError } from './errors.ts';

/** Behind which frame a reader goes on; 0 from the beginning. Throws `invalid_request` for what is no number of a frame. */
export function readLastEventId(header: string | string[] | undefined): number {
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
