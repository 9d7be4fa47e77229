import type { RequestContext } from '../../../kernel/http/operation.ts';
import type { HostedChat } from '../../hosted/index.ts';
import type { HostedPagePath, HostedStopIn } from './schema.ts';

type Request = RequestContext<undefined> & { readonly params: HostedPagePath; readonly body: HostedStopIn };

export function stopHostedRun({ hostedChat }: { readonly hostedChat: HostedChat }) {
  return async ({ params, body, address }: Request) => {
    const { visitor_id: visitorId, run_id: runId, password } = body;
    await hostedChat.stop(params.depid, { visitorId, runId, password: password ?? undefined, address });
    return { run_id: runId, status: 'cancelled' as const };
  };
}
