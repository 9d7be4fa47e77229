import { OutboundError } from '../../../kernel/outbound/outbound.ts';

export interface CappedFetchOptions {
  /** Of one answer, in bytes. */
  readonly answerBytes: number;
  /** Told once an answer is too large, which is then cut off. */
  readonly onTooLarge: (error: OutboundError) => void;
  /** Counts answers together: pages of a list. Absent: each on its own. */
  readonly together?: boolean;
}

/** A `fetch` whose answers end with an error where they are too large, streams of events too. */
export function capFetch(fetch: typeof globalThis.fetch, options: CappedFetchOptions): typeof globalThis.fetch {
  const { answerBytes, onTooLarge, together = false } = options;
  let all = 0;
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.body === null) return response;
    let own = 0;
    /** What is wrong with the answer, with these bytes more. */
    const count = (bytes: number): OutboundError | undefined => {
      own += bytes;
      all += bytes;
      if ((together ? all : own) <= answerBytes) return undefined;
      const error = new OutboundError('too_large', `the server answered with more than ${answerBytes} bytes`);
      onTooLarge(error);
      return error;
    };
    const length = lengthOf(response);
    if (length !== undefined) {
      const error = count(length);
      if (error === undefined) return response;
      // One that is broken already has nothing to cancel.
      response.body.cancel().catch(() => undefined);
      throw error;
    }
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const error = count(chunk.byteLength);
        if (error === undefined) controller.enqueue(chunk);
        else controller.error(error);
      },
    });
    const { status, statusText, headers, url, redirected } = response;
    const capped = new Response(response.body.pipeThrough(counted), { status, statusText, headers });
    return Object.defineProperties(capped, { url: { value: url }, redirected: { value: redirected } });
  };
}

/** In bytes, where the answer says so: it cannot be longer then. Undefined where its end is open, or its body is coded. */
function lengthOf({ headers }: Response): number | undefined {
  const length = Number(headers.get('content-length') ?? Number.NaN);
  return headers.has('content-encoding') || !Number.isSafeInteger(length) ? undefined : length;
}
