/**
 * Serves the OpenAPI document and the page that people read it on. The document is rendered when the server is up, or is
 * first asked for, and kept with its compressed forms. The page keeps nothing in the browser, the token least of all.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { CompressedText, compressAnswers } from './compression.ts';
import { pagePolicy } from './content-security-policy.ts';
import { ApiError } from './errors.ts';
import { setHeader } from './request-state.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Renders the OpenAPI document, if nobody has asked for it yet: holds the event loop for some 0.2 s. */
    renderDocument(): void;
  }
}

export interface ReferenceOptions {
  readonly title: string;
  readonly basePath: string;
  /** Where the page tries calls out. */
  readonly publicUrl: string;
}

/** Adds `/openapi.json` and `/docs`. The document must have been defined: see openapi.ts. */
export async function serveDocument(app: FastifyInstance, options: ReferenceOptions): Promise<void> {
  const { title, basePath } = options;
  let rendered: Rendered | undefined;
  const send = async (request: FastifyRequest, reply: FastifyReply) => {
    rendered ??= render(app);
    return sendRendered(request, reply, rendered, 'application/json; charset=utf-8');
  };
  app.get(`${basePath}/openapi.json`, { logLevel: 'silent' }, send);
  app.decorate('renderDocument', () => {
    rendered ??= render(app);
  });
  await app.register(async (pages) => {
    await compressAnswers(pages);
    const headers = Object.entries(pageHeaders(options));
    const files = new PageFiles();
    pages.addHook('onRequest', async (request, reply) => {
      for (const [name, value] of headers) setHeader(request, reply, name, value);
      if (request.routeOptions.url === `${basePath}/docs/static/*`) return files.send(request, reply);
    });
    await pages.register(swaggerUi, {
      routePrefix: `${basePath}/docs`,
      theme: { title, css: [{ filename: 'reference.css', content: STYLE }], favicon: [ICON] },
      // Shown nowhere; without one each service would read Swagger's from a file.
      logo: { type: ICON.type, content: ICON.content },
      uiConfig: {
        // Without the bar that carries Swagger's name and asks for the address of a document.
        layout: 'BaseLayout',
        tryItOutEnabled: true,
        persistAuthorization: false,
        displayOperationId: true,
        displayRequestDuration: true,
        docExpansion: 'list',
        defaultModelsExpandDepth: 0,
      },
      uiHooks: {
        onRequest: async (request, reply) => {
          if (request.routeOptions.url === `${basePath}/docs/json`) return send(request, reply);
          // It would be made anew for each that asks.
          if (request.routeOptions.url === `${basePath}/docs/yaml`) {
            throw new ApiError('not_found', { message: `The document is served as JSON: ${basePath}/openapi.json.` });
          }
        },
      },
    });
  });
}

/** A text that is asked for often, with its compressed forms. */
interface Rendered {
  readonly text: CompressedText;
  readonly etag: string;
}

function render(app: FastifyInstance): Rendered {
  return prepare(JSON.stringify(app.swagger()));
}

function prepare(text: string): Rendered {
  // Weak: one for all encodings.
  const etag = `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
  return { text: new CompressedText(text), etag };
}

async function sendRendered(
  request: FastifyRequest,
  reply: FastifyReply,
  { text, etag }: Rendered,
  type: string,
): Promise<FastifyReply> {
  reply.header('etag', etag).header('vary', 'accept-encoding').header('cache-control', 'no-cache');
  if (request.headers['if-none-match'] === etag) return reply.code(304).send();
  const { bytes, encoding } = await text.bytesFor(request.headers['accept-encoding']);
  if (encoding !== undefined) reply.header('content-encoding', encoding);
  return reply.type(type).send(bytes);
}

/** The page's scripts and styles: a megabyte and a half, which would be compressed anew for each that asks. */
class PageFiles {
  readonly #prepared = new Map<string, Promise<Rendered>>();

  /** Sends the file, or leaves the answer to the route where there is no such file. */
  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    const name = (request.params as { '*'?: string })['*'] ?? '';
    const type = PAGE_FILE_TYPES[name];
    if (type === undefined) return undefined;
    let file = this.#prepared.get(name);
    if (file === undefined) {
      file = readFile(join(PAGE_FOLDER, name), 'utf8').then(prepare);
      this.#prepared.set(name, file);
    }
    return sendRendered(request, reply, await file, type);
  }
}

const PAGE_FOLDER = join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui')), 'static');
const PAGE_FILE_TYPES: Readonly<Record<string, string>> = {
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui-standalone-preset.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
};

/**
 * The page runs its own files and nothing that stands in it, loads nothing from elsewhere, is framed by nobody, and calls
 * this server alone, by whichever of its addresses the reader came.
 */
function pageHeaders({ publicUrl }: ReferenceOptions): Record<string, string> {
  return {
    'content-security-policy': pagePolicy({
      scripts: ["'self'"],
      styles: ["'self'"],
      images: ["'self'", 'data:'],
      fonts: ["'self'"],
      connections: ["'self'", new URL(publicUrl).origin],
      forms: [],
    }),
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  };
}

/** No larger than a name of a call needs to be found, and the server's own font. */
const STYLE = `.swagger-ui .info { margin: 2rem 0 1rem; }
.swagger-ui .info .title small { top: 0; }
.swagger-ui .scheme-container { box-shadow: none; padding: 0 0 1rem; }`;

const ICON = {
  filename: 'icon.svg',
  rel: 'icon',
  sizes: 'any',
  type: 'image/svg+xml',
  content:
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#1f2933"/>' +
    '<path d="M9 8h14v4h-5v8h5v4H9v-4h5v-8H9z" fill="#fff"/></svg>',
} as const;
