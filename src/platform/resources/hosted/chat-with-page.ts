import { EventStream } from '../../../kernel/http/event-stream.ts';
import { readLastEventId } from '../../../kernel/http/last-event-id.ts';
import type { IdempotencyClaim, RequestContext } from '../../../kernel/http/operation.ts';
import { FAILED_SENTENCE } from '../../channels/index.ts';
import type { Engine } from '../../engine/index.ts';
import {
  collectForVisitor,
  type HostedAnswer,
  type HostedChat,
  statusFrame,
  streamToVisitor,
} from '../../hosted/index.ts';
import type { HostedChatIn, HostedPagePath } from './schema.ts';

type Request = RequestContext<undefined> & {
  readonly params: HostedPagePath;
  readonly body: HostedChatIn;
  readonly idempotency: IdempotencyClaim | undefined;
};

export function chatWithPage({ engine, hostedChat }: { readonly engine: Engine; readonly hostedChat: HostedChat }) {
  return async ({
    params,
    body,
    headers,
    address,
    idempotency,
    signal,
  }: Request): Promise<HostedAnswer | EventStream> => {
    const streams = headers.accept?.includes('text/event-stream') === true;
    const after = streams ? readLastEventId(headers['last-event-id']) : 0;
    const { thread_id: threadId = null, password } = body;
    const run = await hostedChat.send(
      params.depid,
      {
        visitorId: body.visitor_id,
        message: body.message,
        threadId: threadId ?? undefined,
        password: password ?? undefined,
        address,
        key: idempotency?.key,
        streams,
      },
      signal,
    );
    if (run !== undefined)
      return streams ? streamToVisitor(engine, run, after) : collectForVisitor(engine, run, signal);
    if (!streams) return { run_id: null, thread_id: threadId, status: 'failed', message: FAILED_SENTENCE };
    return new EventStream(async (sink) => {
      sink.write(statusFrame({ runId: null, threadId }, 'failed'));
    });
  };
}
