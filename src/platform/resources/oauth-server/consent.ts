import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../../../kernel/http/errors.ts';
import { redirect, type TextReply } from '../../../kernel/http/reply.ts';
import {
  type AuthorizeRequest,
  approve,
  checkFormOrigin,
  deny,
  findPending,
  gone,
  type OAuthDependencies,
  showConsent,
} from '../../authorization-server/index.ts';
import { platformErrors } from '../../errors.ts';
import type { ConsentForm } from './schema.ts';

interface Submitted {
  readonly headers: IncomingHttpHeaders;
  readonly body: ConsentForm;
}

/** What a person can mend is said on the page itself; the token has to be pasted again. */
export function consent(deps: OAuthDependencies) {
  return async ({ headers, body }: Submitted): Promise<TextReply> => {
    checkFormOrigin(deps.publicUrl, headers);
    const request = await findPending(deps.db, body.request);
    if (request === undefined) throw gone();
    if (body.decision === 'deny') return redirect(await deny(deps.db, deps.publicUrl, request), { status: 303 });
    try {
      return redirect(await approveWith(deps, request, body), { status: 303 });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const entry = platformErrors[error.code as keyof typeof platformErrors];
      const message = error.detail.message ?? entry.message;
      return showConsent(request, deps.publicUrl, { status: entry.status, message, typed: body });
    }
  };
}

async function approveWith(
  { db, publicUrl, verifier }: OAuthDependencies,
  request: AuthorizeRequest,
  { token = '', smith_id, project_id }: ConsentForm,
): Promise<string> {
  const caller = await verifier.verify(token.trim());
  const consent = { caller, smithId: smith_id?.trim() || undefined, projectId: project_id?.trim() || undefined };
  return db.transaction((tx) => approve(tx, publicUrl, request, consent));
}
