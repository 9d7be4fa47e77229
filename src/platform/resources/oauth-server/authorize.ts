import { redirect, type TextReply } from '../../../kernel/http/reply.ts';
import { beginRequest, type OAuthDependencies, showConsent } from '../../authorization-server/index.ts';
import type { AuthorizeParameters } from './schema.ts';

/** The page that asks for consent: this server's, or the operator's. */
export function authorize(deps: OAuthDependencies) {
  return async ({ query }: { readonly query: AuthorizeParameters }): Promise<TextReply> => {
    const begun = await beginRequest(deps, query);
    if ('location' in begun) return redirect(begun.location);
    if (deps.consentUrl === undefined) return showConsent(begun.request, deps.publicUrl);
    const page = new URL(deps.consentUrl);
    page.searchParams.set('request', begun.request.id);
    return redirect(page.href);
  };
}
