/** What a service answers at its root: a page for people that says what runs here and where to go, the same as JSON for others. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiVersion } from './check-request.ts';
import { hashSource } from './content-security-policy.ts';
import { escapeHtml, html } from './reply.ts';
import { setHeader } from './request-state.ts';
import { sendText } from './run-operation.ts';

export interface FrontPageOptions {
  /** As machines know the service: `ironcraft`. */
  readonly name: string;
  readonly title: string;
  /** The first paragraph is shown. */
  readonly description: string;
  readonly basePath: string;
  /** The address of `basePath`. */
  readonly publicUrl: string;
  readonly apiVersion?: ApiVersion;
}

/** Adds the front page at `/`, and at the base path where that is another. */
export function serveFrontPage(app: FastifyInstance, options: FrontPageOptions): void {
  const page = html(renderPage(options), {
    cacheControl: 'no-cache',
    policy: { styles: [hashSource(STYLE)], images: ['data:'] },
  });
  const facts = describe(options);
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    setHeader(request, reply, 'vary', 'accept');
    return wantsPage(request) ? sendText(request, reply, page) : reply.header('cache-control', 'no-cache').send(facts);
  };
  for (const path of new Set(['/', options.basePath || '/'])) app.get(path, { schema: { hide: true } }, answer);
}

function wantsPage({ headers }: FastifyRequest): boolean {
  return /\btext\/html\b/i.test(headers.accept ?? '');
}

function describe({ name, title, basePath, publicUrl, apiVersion }: FrontPageOptions) {
  const { origin } = new URL(publicUrl);
  return {
    service: name,
    title,
    ...(apiVersion === undefined ? {} : { api_version: apiVersion.live.at(-1) }),
    reference: `${origin}${basePath}/docs`,
    openapi: `${origin}${basePath}/openapi.json`,
    health: `${origin}/healthz`,
  };
}

/** Paths, not addresses: whoever reads it came by an address that works. */
function renderPage({ title, description, basePath }: FrontPageOptions): string {
  const [intro = ''] = description.split('\n\n');
  const links = [
    [`${basePath}/docs`, 'Reference', 'Every call, with examples to try from the browser.'],
    [`${basePath}/openapi.json`, 'OpenAPI 3.1', 'The same for programs: generate a client from it.'],
    ['/readyz', 'State', 'Whether the server is ready for requests.'],
  ];
  const items = links.map(([href, name, text]) => `<li><a href="${href}">${name}</a> ${text}</li>`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(intro).replaceAll(/`([^`]+)`/g, '<code>$1</code>')}</p>
<ul>
${items.join('\n')}
</ul>
<p>First steps are in <code>README.md</code>, settings and care in <code>docs/operating.md</code>, error codes in
<code>docs/errors.md</code>: files of the folder that the server runs from.</p>
</main>
</body>
</html>
`;
}

const STYLE = `body { margin: 0; font: 1rem/1.6 system-ui, sans-serif; color: #1f2933; background: #fff; }
main { max-width: 40rem; margin: 10vh auto; padding: 0 1.5rem; }
h1 { font-size: 1.6rem; line-height: 1.2; }
ul { padding: 0; list-style: none; }
li { margin: .6rem 0; }
a { display: inline-block; min-width: 8rem; color: #0b5cad; }
code { font: .9em ui-monospace, monospace; }
@media (prefers-color-scheme: dark) { body { color: #e4e7eb; background: #14191f; } a { color: #7db8f0; } }`;
