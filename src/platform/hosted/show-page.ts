/** The page itself: one document that has all it needs, and may load and run nothing else. */
import { readFile } from 'node:fs/promises';
import { hashSource, type PagePolicy } from '../../kernel/http/content-security-policy.ts';
import { escapeHtml, html, type TextReply } from '../../kernel/http/reply.ts';
import type { HostedPage } from './find-page.ts';

/** What is the same on every page. */
interface PageParts {
  readonly style: string;
  readonly scripts: string;
  readonly policy: PagePolicy;
}

/** Each imports only from those before it. */
const MODULES = ['answer.js', 'markdown.js', 'memory.js', 'page.js'];

let parts: Promise<PageParts> | undefined;

/** Read when the first visitor comes. */
function readParts(): Promise<PageParts> {
  parts ??= loadParts();
  return parts;
}

async function loadParts(): Promise<PageParts> {
  const own = (name: string) => readFile(new URL(`./page/${name}`, import.meta.url), 'utf8');
  const [marked, purify, style, ...modules] = await Promise.all([
    readFile(new URL('./marked.umd.js', import.meta.resolve('marked')), 'utf8'),
    readFile(new URL(import.meta.resolve('dompurify/purify.min.js')), 'utf8'),
    own('page.css'),
    ...MODULES.map(own),
  ]);
  const scripts = [marked, purify, joinModules(modules)].map(asInline);
  return {
    style,
    scripts: scripts.map((script) => `<script>${script}</script>`).join('\n'),
    policy: { scripts: scripts.map(hashSource), styles: [hashSource(style)], connections: ["'self'"] },
  };
}

/** One script of several modules. */
function joinModules(modules: readonly string[]): string {
  const bodies = modules.map((text) =>
    text.replaceAll(/^import \{[^}]*\} from '\.\/[\w-]+\.js';$/gm, '').replaceAll(/^export /gm, ''),
  );
  return `(() => {\n'use strict';\n${bodies.join('\n')}\n})();`;
}

/** A script ends where its text says so, wherever that stands; what it was made from is not here. */
function asInline(script: string): string {
  return script.replaceAll(/<(?=\/script|!--)/gi, '\\x3c').replaceAll(/^\/\/# sourceMappingURL=.*$/gm, '');
}

export async function showPage({ id, settings, sealedSecrets, status }: HostedPage): Promise<TextReply> {
  const { style, scripts, policy } = await readParts();
  const { title, greeting } = settings;
  const greeted = greeting === '' ? '' : `<div class="message greeting" dir="auto">${escapeHtml(greeting)}</div>`;
  const text = `<!doctype html>
<html lang="en" dir="${directionOf(title + greeting)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body data-page="${escapeHtml(id)}" data-state="${status}" data-locked="${sealedSecrets !== null}">
<header><h1 dir="auto">${escapeHtml(title)}</h1><button id="new" type="button">New chat</button></header>
<main>
<section id="messages" tabindex="0" aria-label="Conversation">${greeted}</section>
<p id="status" role="status" dir="auto"></p>
<div id="spoken" class="spoken" aria-live="polite"></div>
<form id="unlock" hidden><input id="password" type="password" required aria-label="Password" autocomplete="current-password"><button>Open</button></form>
<form id="write"><textarea id="message" rows="2" maxlength="16000" dir="auto" required aria-label="Message" placeholder="Write a message" enterkeyhint="send"></textarea><button id="send">Send</button><button id="stop" type="button" hidden>Stop</button></form>
<noscript><p dir="auto">This page needs JavaScript.</p></noscript>
</main>
${scripts}
</body>
</html>
`;
  return html(text, { policy });
}

/** As the first letter of what the tenant wrote is written. */
function directionOf(text: string): 'ltr' | 'rtl' {
  const [letter = ''] = /\p{L}/u.exec(text) ?? [];
  return RIGHT_TO_LEFT.test(letter) ? 'rtl' : 'ltr';
}

const RIGHT_TO_LEFT =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;
