import type { EventStream } from '../../../kernel/http/event-stream.ts';
import { readLastEventId } from '../../../kernel/http/last-event-id.ts';
import type { IdempotencyClaim, RequestContext } from '../../../kernel/http/operation.ts';
import type { Engine } from '../../engine/index.ts';
import {
  collectForVisitor,
  type HostedAnswer,
  type HostedChat,
  streamFailure,
  streamToVisitor,
  tellFailure,
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
    const { visitor_id: visitorId, message, thread_id: threadId = null, password } = body;
    const streams = headers.accept?.includes('text/event-stream') === true;
    const after = streams ? readLastEventId(headers['last-event-id']) : 0;
    const run = await hostedChat.send(
      params.depid,
      {
        visitorId,
        message,
        threadId: threadId ?? undefined,
        password: password ?? undefined,
        address,
        key: idempotency?.key,
        streams,
      },
      signal,
    );
    if (run === undefined) return streams ? streamFailure(threadId) : tellFailure(threadId);
    return streams ? streamToVisitor(engine, run, after) : collectForVisitor(engine, run, signal);
  };
}
