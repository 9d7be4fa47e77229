/**
 * Client id metadata documents (draft-ietf-oauth-client-id-metadata-document): the client's id is an https address, and what
 * is served there says who the client is. Fetched through the outbound guard and remembered for as long as its headers say.
 */
import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';
import { abortAfter } from '../../kernel/clock/timers.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { type Outbound, OutboundError, readCapped } from '../../kernel/outbound/outbound.ts';
import { type OAuthClient, readClientMetadata } from './client.ts';

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 64 * 1024;
const MAX_ID_LENGTH = 2_048;
const MIN_AGE_SECONDS = 60;
const MAX_AGE_SECONDS = 86_400;
/** Together at most 64 MiB, and in practice a kilobyte each. */
const REMEMBERED = 1_000;

export interface ClientDocuments {
  /** Throws `invalid_request` where the document is not to be had or describes no client. */
  get(id: string): Promise<OAuthClient>;
  /** The keys that are served at an address. */
  keysAt(uri: string): JWTVerifyGetKey;
}

/** Whether a client's id is meant as the address of a document; what the guard thinks of it is found out with `get`. */
export function isDocumentId(id: string): boolean {
  return /^https?:\/\//.test(id);
}

export function createClientDocuments({ outbound }: { readonly outbound: Outbound }): ClientDocuments {
  const guarded = outbound.fetch('public', { httpsOnly: true, maxRedirects: 0, headersTimeoutMs: TIMEOUT_MS });
  const clients = new LRUCache<string, Promise<OAuthClient>>({ max: REMEMBERED });
  const keys = new LRUCache<string, JWTVerifyGetKey>({ max: REMEMBERED });

  /** The whole of it within the time: a server that drips is as good as one that is silent. */
  async function fetchJson(address: string): Promise<{ readonly value: unknown; readonly headers: Headers }> {
    const response = await guarded(address, {
      headers: { accept: 'application/json' },
      signal: abortAfter(TIMEOUT_MS),
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new OutboundError('bad_response', `the server answered with status ${response.status}, not 200`);
    }
    const bytes = await readCapped(response, MAX_BYTES);
    return { value: JSON.parse(Buffer.from(bytes).toString('utf8')), headers: response.headers };
  }

  async function load(id: string): Promise<OAuthClient> {
    checkShape(id);
    let fetched: Awaited<ReturnType<typeof fetchJson>>;
    try {
      fetched = await fetchJson(id);
    } catch (cause) {
      throw unavailable(id, cause);
    }
    const client = readDocument(id, fetched.value);
    // While the promise is what others have found, this says when it is forgotten.
    clients.set(id, Promise.resolve(client), { ttl: 1_000 * lifetimeOf(fetched.headers) });
    return client;
  }

  return {
    get(id) {
      const known = clients.get(id);
      if (known !== undefined) return known;
      const loading = load(id);
      clients.set(id, loading, { ttl: 2 * TIMEOUT_MS });
      loading.catch(() => clients.delete(id));
      return loading;
    },
    keysAt(uri) {
      const known = keys.get(uri);
      if (known !== undefined) return known;
      const made = createRemoteJWKSet(new URL(uri), {
        timeoutDuration: TIMEOUT_MS,
        [customFetch]: async (address) => Response.json((await fetchJson(address)).value),
      });
      keys.set(uri, made);
      return made;
    },
  };
}

/** What the draft demands of the address itself (section 3). */
function checkShape(id: string): void {
  const url = URL.canParse(id) && id.length <= MAX_ID_LENGTH ? new URL(id) : undefined;
  // As the parser writes it: so without dot segments, in one spelling.
  if (url !== undefined && url.href === id && url.pathname !== '/' && url.hash === '' && !id.includes('@')) return;
  throw new ApiError('invalid_request', {
    param: 'client_id',
    message:
      '`client_id` must be an https address with a path, as a URL parser writes it, without user name and fragment.',
  });
}

function readDocument(id: string, value: unknown): OAuthClient {
  const given = value as Record<string, unknown> | null;
  if (given === null || typeof given !== 'object' || given.client_id !== id) {
    throw new ApiError('invalid_request', {
      param: 'client_id',
      message:
        'What is served at `client_id` is no metadata document of this client: its `client_id` must be this very address.',
    });
  }
  const metadata = readClientMetadata(given, { name: new URL(id).hostname, authMethod: 'none' });
  // A secret that both know cannot be in a public document (section 4.1).
  if (metadata.token_endpoint_auth_method.startsWith('client_secret') || 'client_secret' in given) {
    throw new ApiError('invalid_request', {
      param: 'token_endpoint_auth_method',
      message:
        'A client with a metadata document has no secret: its `token_endpoint_auth_method` must be `none` or `private_key_jwt`.',
    });
  }
  return { id, metadata, secretHash: null, isDocument: true };
}

function lifetimeOf(headers: Headers): number {
  const control = headers.get('cache-control') ?? '';
  const [, given] = /(?:^|[\s,])max-age="?(\d{1,9})/i.exec(control) ?? [];
  const isFresh = given !== undefined && !/\bno-(?:store|cache)\b/i.test(control);
  return Math.min(Math.max(isFresh ? Number(given) : 0, MIN_AGE_SECONDS), MAX_AGE_SECONDS);
}

function unavailable(id: string, cause: unknown): ApiError {
  const why = cause instanceof OutboundError ? `: ${cause.message}` : '';
  return new ApiError('invalid_request', {
    param: 'client_id',
    message: `The metadata document of ${new URL(id).host} could not be read${why}. It must be JSON of at most 64 KB, served within 5 seconds and without redirects.`,
    cause,
  });
}
