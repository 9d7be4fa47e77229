/** `Content-Security-Policy` of a page: nothing is allowed but what the page names. https://www.w3.org/TR/CSP3/ */
import { createHash, randomBytes } from 'node:crypto';

/** Sources are origins, paths, `'self'`, `data:`, or what `nonceSource` and `hashSource` make. */
export interface PagePolicy {
  readonly scripts?: readonly string[];
  readonly styles?: readonly string[];
  readonly images?: readonly string[];
  readonly fonts?: readonly string[];
  /** Where scripts may send requests and open sockets to. */
  readonly connections?: readonly string[];
  /** Pages that the page may hold in frames. */
  readonly frames?: readonly string[];
  /** Where its forms may be sent, redirects of their answers included. Default: this server. */
  readonly forms?: readonly string[];
  /** Who may hold the page in a frame. Default: nobody. */
  readonly frameAncestors?: readonly string[];
}

/** The header's value. Throws where a source has a character that would end it. */
export function pagePolicy(policy: PagePolicy = {}): string {
  const directives: readonly (readonly [name: string, sources: readonly string[] | undefined])[] = [
    ['default-src', []],
    ['script-src', policy.scripts],
    ['style-src', policy.styles],
    ['img-src', policy.images],
    ['font-src', policy.fonts],
    ['connect-src', policy.connections],
    ['frame-src', policy.frames],
    ['form-action', policy.forms ?? ["'self'"]],
    ['frame-ancestors', policy.frameAncestors ?? []],
    ['base-uri', []],
  ];
  return directives
    .flatMap(([name, sources]) => (sources === undefined ? [] : [`${name} ${listSources(sources)}`]))
    .join('; ');
}

/** Of a page that is made anew for each answer: a value to put into `nonce` of its scripts and styles. */
export function createNonce(): string {
  return randomBytes(16).toString('base64url');
}

export function nonceSource(nonce: string): string {
  return `'nonce-${nonce}'`;
}

/** Of a page that is the same for everybody: allows the inline script or style with exactly this text. */
export function hashSource(inline: string): string {
  return `'sha256-${createHash('sha256').update(inline).digest('base64')}'`;
}

function listSources(sources: readonly string[]): string {
  for (const source of sources) {
    if (!/^[\x21-\x2b\x2d-\x3a\x3c-\x7e]+$/.test(source)) throw new TypeError(`no source of a policy: ${source}`);
  }
  return sources.length === 0 ? "'none'" : sources.join(' ');
}
