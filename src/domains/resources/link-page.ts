/**
 * The page that a mailed link leads to. Its code stands behind `#`, which browsers send to nobody, so it is in no log; and it is used by a press
 * of the button, so that no scanner of mails uses it up.
 */
import { hashSource } from '../../kernel/http/content-security-policy.ts';
import { html, type TextReply } from '../../kernel/http/reply.ts';

interface LinkPage {
  readonly title: string;
  readonly heading?: string;
  readonly text: string;
  readonly button: string;
  /** Where the code goes, below the base path. */
  readonly path: string;
  /** An expression of JavaScript: what is shown of the answer's `body` when all went well. */
  readonly shown: string;
}

export function linkPage({ button, heading, path, shown, text, title }: LinkPage): () => Promise<TextReply> {
  const script = `
const button = document.querySelector('button');
const answer = document.querySelector('output');
button.addEventListener('click', async () => {
  button.disabled = true;
  const response = await fetch('${path}', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code: location.hash.slice(1) }),
  });
  const body = await response.json();
  history.replaceState(null, '', location.pathname);
  answer.textContent = response.ok ? (${shown}) : body.details.message;
});
`;
  const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<h1>${heading ?? title}</h1>
<p>${text}</p>
<p><button type="button">${button}</button></p>
<p><output></output></p>
<script>${script}</script>
</html>
`;
  const policy = { scripts: [hashSource(script)], connections: ["'self'"] };
  return async () => html(page, { policy });
}
