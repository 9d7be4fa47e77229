/**
 * The page that a link leads to. Its code stands behind `#`, which browsers send to nobody, so it is in no log; and it is used by a press of
 * the button, so that no scanner of mails uses it up.
 */
import { hashSource } from '../../../kernel/http/content-security-policy.ts';
import { html, type TextReply } from '../../../kernel/http/reply.ts';

const SCRIPT = `
const button = document.querySelector('button');
const answer = document.querySelector('output');
button.addEventListener('click', async () => {
  button.disabled = true;
  const response = await fetch('sign-ins/complete', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code: location.hash.slice(1) }),
  });
  const body = await response.json();
  history.replaceState(null, '', location.pathname);
  answer.textContent = response.ok ? body.token.token : body.details.message;
});
`;

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sign in</title>
<h1>Sign in to the domain service</h1>
<p>The button shows a new token of your workspace, once. Copy it, and keep it as you keep a password.</p>
<p><button type="button">Show the token</button></p>
<p><output></output></p>
<script>${SCRIPT}</script>
</html>
`;

export async function showSignInPage(): Promise<TextReply> {
  return html(PAGE, { policy: { scripts: [hashSource(SCRIPT)], connections: ["'self'"] } });
}
