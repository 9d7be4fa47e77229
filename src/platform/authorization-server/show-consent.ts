/** The page that asks for consent: one document without scripts, whose form leads here and to the client alone. */
import { readFile } from 'node:fs/promises';
import { hashSource } from '../../kernel/http/content-security-policy.ts';
import { escapeHtml, html, type TextReply } from '../../kernel/http/reply.ts';
import { isDocumentId } from './client-documents.ts';
import { hostOfRedirect, sourceOfRedirect } from './redirect-uri.ts';
import type { AuthorizeRequest } from './request-store.ts';

/** Why the page is shown again, and what was typed there, but for the token. */
export interface Problem {
  readonly status: number;
  readonly message: string;
  readonly smithId: string | undefined;
}

let style: Promise<string> | undefined;

/** Read when the first browser comes. */
function readStyle(): Promise<string> {
  style ??= readFile(new URL('./page/consent.css', import.meta.url), 'utf8');
  return style;
}

export async function showConsent(request: AuthorizeRequest, publicUrl: string, problem?: Problem): Promise<TextReply> {
  const css = await readStyle();
  const name = `<bdi>${escapeHtml(request.client_name)}</bdi>`;
  const said =
    problem === undefined ? '' : `<p class="problem" role="alert" id="problem">${escapeHtml(problem.message)}</p>`;
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Let a program connect</title>
<style>${css}</style>
</head>
<body>
<main>
<h1>${name} wants to connect</h1>
${said}
<dl>
<dt>Program</dt><dd>${name}, ${escapeHtml(vouchedBy(request.client_id))}</dd>
<dt>To</dt><dd>an assistant on ${escapeHtml(new URL(publicUrl).host)}</dd>
<dt>Then on to</dt><dd>${escapeHtml(hostOfRedirect(request.redirect_uri))}</dd>
</dl>
<p>It will be able to:</p>
<ul><li>speak to the assistant in your place, and read its answers</li></ul>
<p>until you revoke its token. Approve only what you have asked for yourself.</p>
<form method="post" action="authorize">
<input type="hidden" name="request" value="${escapeHtml(request.id)}">
<label for="token">Your token<span class="hint" id="token-hint">A smith token with runs:write, or a tenant-admin token. It is not shown to the program.</span></label>
<input id="token" name="token" type="password" required autocomplete="off" spellcheck="false" aria-describedby="token-hint${problem === undefined ? '' : ' problem'}">
<label for="smith_id">Smith<span class="hint" id="smith-hint">Needed with a tenant-admin token where the assistant is an agent’s.</span></label>
<input id="smith_id" name="smith_id" autocomplete="off" autocapitalize="none" spellcheck="false" aria-describedby="smith-hint" value="${escapeHtml(problem?.smithId ?? '')}">
<div class="decision">
<button name="decision" value="approve">Approve</button>
<button name="decision" value="deny" formnovalidate>Decline</button>
</div>
</form>
</main>
</body>
</html>
`;
  return html(page, {
    status: problem?.status ?? 200,
    policy: { styles: [hashSource(css)], forms: ["'self'", sourceOfRedirect(request.redirect_uri)] },
    // Without one of this page's, browsers would say that the form comes from nowhere.
    headers: { 'referrer-policy': 'same-origin' },
  });
}

/** Who stands for the program's name. */
function vouchedBy(clientId: string): string {
  return isDocumentId(clientId) ? `of ${new URL(clientId).host}` : 'a name that it gave itself';
}
