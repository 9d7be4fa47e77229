/** What handlers answer with where that is not the plain JSON of their schema: another status, a page, a text, a redirect. */
import { type PagePolicy, pagePolicy } from './content-security-policy.ts';

/** A JSON reply whose status or headers differ from the operation's usual ones. */
export class HttpReply<Body = unknown> {
  readonly status: number;
  readonly body: Body;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: Body, headers: Readonly<Record<string, string>> = {}) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

/**
 * JSON of the reply's schema that the handler wrote itself: where the serializer would hold up everybody else, it is written
 * piece by piece; what a protocol's own library wrote stays as it is.
 */
export class WrittenJson {
  readonly bytes: Buffer;
  /** Undefined: the operation's usual one. */
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(bytes: Buffer, status?: number, headers: Readonly<Record<string, string>> = {}) {
    this.bytes = bytes;
    this.status = status;
    this.headers = headers;
  }
}

/** The kinds of `TextReply` that an operation may answer with. */
export type TextKind = 'html' | 'text' | 'xml' | 'protobuf' | 'rdap' | 'redirect';

/** An answer that the handler wrote itself. Made by `html`, `plainText`, `xml`, `protobuf`, `rdapJson` and `redirect`. */
export class TextReply {
  readonly kind: TextKind;
  readonly status: number;
  readonly text: string | Buffer;
  /** Lower-cased names; `content-type` among them, unless there is no text. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(kind: TextKind, status: number, text: string | Buffer, headers: Readonly<Record<string, string>>) {
    this.kind = kind;
    this.status = status;
    this.text = text;
    this.headers = headers;
  }
}

export interface TextOptions {
  /** Default 200. */
  readonly status?: number;
  /** Default `no-store`. */
  readonly cacheControl?: string;
  /** Lower-cased names; they take the place of the ones set here. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface PageOptions extends TextOptions {
  /** What the page may load, run and send beyond nothing. */
  readonly policy?: PagePolicy;
}

/**
 * An HTML page. It may load and run nothing but what its policy names, be framed by nobody, and tells other sites no
 * address. Text from outside goes into it through `escapeHtml`.
 */
export function html(page: string, options: PageOptions = {}): TextReply {
  const { frameAncestors = [] } = options.policy ?? {};
  return written('html', 'text/html; charset=utf-8', page, options, {
    'content-security-policy': pagePolicy(options.policy),
    'referrer-policy': 'no-referrer',
    // What browsers without `frame-ancestors` read; it cannot name origins.
    ...(frameAncestors.length === 0 ? { 'x-frame-options': 'DENY' } : {}),
  });
}

export function plainText(text: string, options: TextOptions = {}): TextReply {
  return written('text', 'text/plain; charset=utf-8', text, options);
}

/** `mediaType` for a vocabulary that has its own, such as `application/atom+xml`. */
export function xml(text: string, options: TextOptions & { readonly mediaType?: string } = {}): TextReply {
  return written('xml', `${options.mediaType ?? 'application/xml'}; charset=utf-8`, text, options);
}

/** A message that is encoded already. */
export function protobuf(message: Buffer, options: TextOptions = {}): TextReply {
  return written('protobuf', 'application/x-protobuf', message, options);
}

/** An answer of the Registration Data Access Protocol (RFC 9083), which any page may read. */
export function rdapJson(content: object, options: TextOptions = {}): TextReply {
  return written('rdap', RDAP_MEDIA_TYPE, JSON.stringify(content), options, { 'access-control-allow-origin': '*' });
}

export const RDAP_MEDIA_TYPE = 'application/rdap+json';

/**
 * Sends the browser on: 302, or 303 for a form's answer, which is then fetched with GET. `location` is an address of any
 * scheme or a path of this server; whoever takes it from a request has checked it.
 */
export function redirect(location: string, options: TextOptions & { readonly status?: 302 | 303 } = {}): TextReply {
  const { status = 302, cacheControl = 'no-store', headers } = options;
  return new TextReply('redirect', status, '', {
    // A header holds visible ASCII: everything else is encoded as an address would have it.
    location: location.toWellFormed().replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent),
    'cache-control': cacheControl,
    'referrer-policy': 'no-referrer',
    ...headers,
  });
}

/** Text as it stands in HTML, also between the quotes of an attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function written(
  kind: TextKind,
  contentType: string,
  text: string | Buffer,
  { status = 200, cacheControl = 'no-store', headers }: TextOptions,
  further: Readonly<Record<string, string>> = {},
): TextReply {
  return new TextReply(kind, status, text, {
    'content-type': contentType,
    'cache-control': cacheControl,
    'x-content-type-options': 'nosniff',
    ...further,
    ...headers,
  });
}
