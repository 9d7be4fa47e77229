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
    const count = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        own += chunk.byteLength;
        all += chunk.byteLength;
        if ((together ? all : own) <= answerBytes) return controller.enqueue(chunk);
        const error = new OutboundError('too_large', `the server answered with more than ${answerBytes} bytes`);
        controller.error(error);
        onTooLarge(error);
      },
    });
    const { status, statusText, headers, url, redirected } = response;
    const capped = new Response(response.body.pipeThrough(count), { status, statusText, headers });
    return Object.defineProperties(capped, { url: { value: url }, redirected: { value: redirected } });
  };
}
