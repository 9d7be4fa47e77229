/** The page itself: one document that has all it needs, and may load and run nothing else. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { hashSource } from '../../kernel/http/content-security-policy.ts';
import { escapeHtml, html, type TextReply } from '../../kernel/http/reply.ts';
import type { HostedPage } from './find-page.ts';

interface PageFiles {
  readonly style: string;
  /** In the order in which they run. */
  readonly scripts: readonly string[];
}

let files: Promise<PageFiles> | undefined;

/** Read when the first visitor comes. */
function readFiles(): Promise<PageFiles> {
  files ??= loadFiles();
  return files;
}

async function loadFiles(): Promise<PageFiles> {
  const own = (name: string) => readFile(new URL(`./page/${name}`, import.meta.url), 'utf8');
  const marked = new URL('./marked.umd.js', import.meta.resolve('marked'));
  const purify = new URL(import.meta.resolve('dompurify/purify.min.js'));
  const [style, answer, page, ...libraries] = await Promise.all([
    own('page.css'),
    own('answer.js'),
    own('page.js'),
    readFile(fileURLToPath(marked), 'utf8'),
    readFile(fileURLToPath(purify), 'utf8'),
  ]);
  return { style, scripts: [...libraries, joinModules(answer, page)].map(asInline) };
}

/** Two modules as one script: what the second imports stands before it. */
function joinModules(first: string, second: string): string {
  const own = second.replace(/^import \{[^}]*\} from '\.\/answer\.js';$/m, '');
  return `(() => {\n${first.replaceAll(/^export /gm, '')}\n${own}\n})();`;
}

/** A script ends where its text says so, wherever that stands. */
function asInline(script: string): string {
  return script.replaceAll(/<(?=\/script|!--)/gi, '\\x3c');
}

export async function showPage({ id, settings, sealedSecrets, status }: HostedPage): Promise<TextReply> {
  const { style, scripts } = await readFiles();
  const { title, greeting } = settings;
  const greeted = greeting === '' ? '' : `<div class="message greeting" dir="auto">${escapeHtml(greeting)}</div>`;
  const text = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body data-page="${escapeHtml(id)}" data-state="${status}" data-locked="${sealedSecrets !== null}">
<header><h1 dir="auto">${escapeHtml(title)}</h1><button id="new" type="button">New chat</button></header>
<main id="messages" tabindex="0" aria-label="Conversation">${greeted}</main>
<p id="status" role="status"></p>
<div id="spoken" class="spoken" aria-live="polite"></div>
<form id="unlock" hidden><input id="password" type="password" required aria-label="Password" autocomplete="current-password"><button>Open</button></form>
<form id="write"><textarea id="message" rows="2" maxlength="16000" dir="auto" required aria-label="Message" placeholder="Write a message"></textarea><button id="send">Send</button><button id="stop" type="button" hidden disabled>Stop</button></form>
<noscript><p>This page needs JavaScript.</p></noscript>
${scripts.map((script) => `<script>${script}</script>`).join('\n')}
</body>
</html>
`;
  return html(text, {
    policy: { scripts: scripts.map(hashSource), styles: [hashSource(style)], connections: ["'self'"] },
  });
}
