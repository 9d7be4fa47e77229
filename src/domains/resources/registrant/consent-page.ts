/** The page that a link of a change leads to; see verification-page.ts for why it has a button. */
import { hashSource } from '../../../kernel/http/content-security-policy.ts';
import { html, type TextReply } from '../../../kernel/http/reply.ts';

const SCRIPT = `
const button = document.querySelector('button');
const answer = document.querySelector('output');
button.addEventListener('click', async () => {
  button.disabled = true;
  const response = await fetch('registrant/change/consent', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code: location.hash.slice(1) }),
  });
  const body = await response.json();
  history.replaceState(null, '', location.pathname);
  answer.textContent = !response.ok
    ? body.details.message
    : body.status === 'Changed' ? 'Thank you: the holder has changed.' : 'Thank you: the other side has to consent, too.';
});
`;

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Consent to the change of the holder</title>
<h1>Consent to the change of the holder of domains</h1>
<p>The message that led you here says who is the holder and who is to be. The button consents to that.</p>
<p><button type="button">Consent</button></p>
<p><output></output></p>
<script>${SCRIPT}</script>
</html>
`;

export async function showConsentPage(): Promise<TextReply> {
  return html(PAGE, { policy: { scripts: [hashSource(SCRIPT)], connections: ["'self'"] } });
}
