/** The page that asks for consent: one document without scripts, whose form leads here and to the client alone. */
import { readFile } from 'node:fs/promises';
import { hashSource } from '../../kernel/http/content-security-policy.ts';
import { escapeHtml, html, type TextReply } from '../../kernel/http/reply.ts';
import { TENANT_MARKER } from '../access/caller.ts';
import { isDocumentId } from './client-documents.ts';
import { hostOfRedirect, sourceOfRedirect } from './redirect-uri.ts';
import type { AuthorizeRequest } from './request-store.ts';

/** Why the page is shown again, and what was typed there, but for the token. */
export interface Problem {
  readonly status: number;
  readonly message: string;
  readonly typed: { readonly smith_id?: string; readonly project_id?: string };
}

let style: Promise<string> | undefined;

/** Read when the first browser comes. */
function readStyle(): Promise<string> {
  style ??= readFile(new URL('./page/consent.css', import.meta.url), 'utf8');
  return style;
}

export async function showConsent(request: AuthorizeRequest, publicUrl: string, problem?: Problem): Promise<TextReply> {
  const css = await readStyle();
  const purpose = request.deployment_id === null ? ofApp(request.scopes) : OF_CONNECTOR;
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
<dt>To</dt><dd>${escapeHtml(purpose.target)} on ${escapeHtml(new URL(publicUrl).host)}</dd>
<dt>Then on to</dt><dd>${escapeHtml(hostOfRedirect(request.redirect_uri))}</dd>
</dl>
<p>It will be able to:</p>
<ul>${purpose.abilities.map((ability) => `<li>${escapeHtml(ability)}</li>`).join('')}</ul>
<p>${purpose.end} Approve only what you have asked for yourself.</p>
<form method="post" action="authorize">
<input type="hidden" name="request" value="${escapeHtml(request.id)}">
<label for="token">${purpose.tokenLabel}<span class="hint" id="token-hint">${purpose.tokenHint} It is not shown to the program.</span></label>
<input id="token" name="token" type="password" required autocomplete="off" spellcheck="false" aria-describedby="token-hint${problem === undefined ? '' : ' problem'}">
<label for="${purpose.place}">${purpose.placeLabel}<span class="hint" id="place-hint">${purpose.placeHint}</span></label>
<input id="${purpose.place}" name="${purpose.place}" autocomplete="off" autocapitalize="none" spellcheck="false" aria-describedby="place-hint" value="${escapeHtml(problem?.typed[purpose.place] ?? '')}">
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

/** What the page says of the consent, as text of its own. */
interface Purpose {
  readonly target: string;
  readonly abilities: readonly string[];
  readonly end: string;
  readonly tokenLabel: string;
  readonly tokenHint: string;
  /** The field beside the token. */
  readonly place: 'smith_id' | 'project_id';
  readonly placeLabel: string;
  readonly placeHint: string;
}

const OF_CONNECTOR: Purpose = {
  target: 'an assistant',
  abilities: ['speak to the assistant in your place, and read its answers'],
  end: 'until you revoke its token.',
  tokenLabel: 'Your token',
  tokenHint: 'A smith token with runs:write, or a tenant-admin token.',
  place: 'smith_id',
  placeLabel: 'Smith',
  placeHint: 'Needed with a tenant-admin token where the assistant is an agent’s.',
};

function ofApp(scopes: readonly string[]): Purpose {
  return {
    target: 'a project of your organization',
    abilities: scopes.map(describeScope),
    end: 'until you disconnect it.',
    tokenLabel: 'Your organization’s key',
    tokenHint: 'Of the organization whose project it is.',
    place: 'project_id',
    placeLabel: 'Project',
    placeHint: 'The id of the project that the program is let into.',
  };
}

function describeScope(scope: string): string {
  if (scope === TENANT_MARKER) return 'do everything in the project';
  const identity = { openid: 'know who you are', profile: 'know your name', email: 'know your e-mail address' }[scope];
  if (identity !== undefined) return identity;
  const [family = '', access] = scope.split(':');
  return `${access === 'read' ? 'read' : 'change'} ${family.replaceAll('_', ' ')} (${scope})`;
}

/** Who stands for the program's name. */
function vouchedBy(clientId: string): string {
  return isDocumentId(clientId) ? `of ${new URL(clientId).host}` : 'a name that it gave itself';
}
