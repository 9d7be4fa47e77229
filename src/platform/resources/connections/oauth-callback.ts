import type { RequestContext } from '../../../kernel/http/operation.ts';
import { redirect, type TextReply } from '../../../kernel/http/reply.ts';
import type { ConnectionOperationDependencies } from './dependencies.ts';
import type { CallbackQuery, ConnectionCallbackOut } from './schema.ts';

/** Where a browser goes on to, it is told there; everybody else is told here. */
export function finishAuthorization({ connections }: Pick<ConnectionOperationDependencies, 'connections'>) {
  return async ({
    query,
  }: RequestContext<undefined> & { readonly query: CallbackQuery }): Promise<ConnectionCallbackOut | TextReply> => {
    const finished = await connections.finishSignIn(query);
    const { returnUrl } = finished;
    if ('connectionId' in finished) {
      if (returnUrl === null) return { status: 'ok' };
      return redirect(withParams(returnUrl, { status: 'ok', connection_id: finished.connectionId }));
    }
    if (returnUrl === null) throw finished.refusal;
    return redirect(withParams(returnUrl, { status: 'error', error: finished.oauthError ?? finished.refusal.code }));
  };
}

function withParams(address: string, params: Readonly<Record<string, string>>): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  return url.href;
}
