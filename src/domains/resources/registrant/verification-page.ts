/**
 * The page that a link leads to. Its code stands behind `#`, which browsers send to nobody, so it is in no log; and it is used by a press of
 * the button, so that no scanner of mails confirms an address.
 */
import { hashSource } from '../../../kernel/http/content-security-policy.ts';
import { html, type TextReply } from '../../../kernel/http/reply.ts';

const SCRIPT = `
const button = document.querySelector('button');
const answer = document.querySelector('output');
button.addEventListener('click', async () => {
  button.disabled = true;
  const response = await fetch('registrant/verification/complete', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code: location.hash.slice(1) }),
  });
  const body = await response.json();
  history.replaceState(null, '', location.pathname);
  answer.textContent = response.ok ? 'Thank you: your address is confirmed.' : body.details.message;
});
`;

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Confirm your e-mail address</title>
<h1>Confirm your e-mail address</h1>
<p>The button confirms that you read the mail of this address, and that you hold the domains of the message.</p>
<p><button type="button">Confirm</button></p>
<p><output></output></p>
<script>${SCRIPT}</script>
</html>
`;

export async function showVerificationPage(): Promise<TextReply> {
  return html(PAGE, { policy: { scripts: [hashSource(SCRIPT)], connections: ["'self'"] } });
}
