/** What a registration must be to be of use to a turn, checked when it is saved. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { type Outbound, OutboundError } from '../../../kernel/outbound/outbound.ts';
import { HINT_SELECTORS } from '../../mcp/index.ts';
import type { McpAuthKind, McpClientMode, McpPolicyRule } from '../../tables.ts';
import type { Catalog } from '../catalog/index.ts';
import type { McpServerIn } from './schema.ts';

/** The registration, but for a secret that may stay. */
export interface CheckedMcpServer {
  readonly url: string;
  readonly catalog_slug: string | null;
  readonly auth_kind: McpAuthKind;
  readonly auth_provider: string | null;
  readonly auth_client_mode: McpClientMode;
  /** Undefined: the one that is there, if any. */
  readonly secret: string | undefined;
  readonly tool_allowlist: string[] | null;
  readonly approval_policy: McpPolicyRule[];
}

const KINDS: readonly string[] = ['none', 'bearer', 'oauth'] satisfies McpAuthKind[];
const OAUTH_MODES: readonly string[] = ['auto', 'registered', 'dynamic', 'metadata_document'] satisfies McpClientMode[];

/**
 * Looks the host up: call it outside of any transaction. Throws `url_required`, `invalid_request`, `unknown_catalog_entry`, `invalid_url`,
 * `invalid_auth_kind`, `invalid_client_mode`, `secret_required`, `unknown_provider`, `invalid_approval_policy` and
 * `unsupported_policy_rule`.
 */
export async function checkMcpServer(
  { catalog, outbound }: { readonly catalog: Catalog; readonly outbound: Pick<Outbound, 'checkUrl'> },
  body: McpServerIn,
): Promise<CheckedMcpServer> {
  const entry = findEntry(catalog, body);
  const auth = checkAuth(body.auth ?? {}, entry?.auth);
  const approval_policy = checkPolicy(body.approval_policy ?? entry?.default_approval_policy ?? []);
  const address = entry?.mcp_url ?? body.url ?? '';
  return {
    url: await checkUrl(outbound, address, entry === undefined ? 'url' : 'catalog'),
    catalog_slug: entry?.slug ?? null,
    ...auth,
    tool_allowlist: body.tool_allowlist ?? entry?.default_allowlist ?? null,
    approval_policy,
  };
}

function findEntry(catalog: Catalog, { url, catalog: slug }: McpServerIn) {
  const hasUrl = url != null && url !== '';
  if (slug == null || slug === '') {
    if (hasUrl) return undefined;
    throw new ApiError('url_required', { param: 'url' });
  }
  if (hasUrl) {
    throw new ApiError('invalid_request', {
      param: 'catalog',
      message: '`url` and `catalog` both say where the server is. Send one of them.',
    });
  }
  const entry = catalog.find(slug);
  if (entry === undefined) throw new ApiError('unknown_catalog_entry', { param: 'catalog' });
  return entry;
}

async function checkUrl(outbound: Pick<Outbound, 'checkUrl'>, address: string, param: string): Promise<string> {
  const refuse = (why: string) => new ApiError('invalid_url', { param, message: `\`${param}\` is refused: ${why}.` });
  try {
    const url = await outbound.checkUrl(address, { policy: 'public', httpsOnly: true });
    if (url.hash !== '') throw refuse('it has a fragment, which is never sent');
    return url.href;
  } catch (error) {
    throw error instanceof OutboundError ? refuse(error.message) : error;
  }
}

type AuthIn = NonNullable<McpServerIn['auth']>;
type CheckedAuth = Pick<CheckedMcpServer, 'auth_kind' | 'auth_provider' | 'auth_client_mode' | 'secret'>;

function checkAuth(
  { kind: givenKind, provider, secret, client_mode: givenMode }: AuthIn,
  usual: { readonly kind: string; readonly provider: string | null; readonly client_mode: string } = {
    kind: 'none',
    provider: null,
    client_mode: 'none',
  },
): CheckedAuth {
  const kind = givenKind ?? usual.kind;
  if (!isOneOf<McpAuthKind>(KINDS, kind)) throw new ApiError('invalid_auth_kind', { param: 'auth.kind' });
  const own = kind === usual.kind ? usual.client_mode : 'auto';
  const mode = givenMode ?? (kind === 'oauth' ? own : 'none');
  const modes = kind === 'oauth' ? OAUTH_MODES : ['none'];
  if (!isOneOf<McpClientMode>(modes, mode)) {
    const message = `\`auth.client_mode\` of the kind ${kind} is ${modes.join(', ')}.`;
    throw new ApiError('invalid_client_mode', { param: 'auth.client_mode', message });
  }
  const ownProvider = provider ?? (kind === usual.kind ? usual.provider : null);
  if (kind !== 'oauth') refuseUnused(kind, 'provider', provider);
  if (kind !== 'bearer') refuseUnused(kind, 'secret', secret);
  if (mode === 'registered' && ownProvider === null) throw unknownProvider();
  return {
    auth_kind: kind,
    auth_provider: kind === 'oauth' ? ownProvider : null,
    auth_client_mode: mode,
    secret: kind === 'bearer' && secret != null ? checkSecret(secret) : undefined,
  };
}

export function unknownProvider(): ApiError {
  const message =
    'No OAuth client is saved under this name. Save it with `PUT /v1/tenant/providers/{provider}`, or use another `auth.client_mode`.';
  return new ApiError('unknown_provider', { param: 'auth.provider', message });
}

function isOneOf<Value extends string>(values: readonly string[], value: string): value is Value {
  return values.includes(value);
}

function refuseUnused(kind: string, member: string, value: string | null | undefined): void {
  if (value == null) return;
  const message = `\`auth.${member}\` is of no use to the kind ${kind}. Leave it out, or name another \`auth.kind\`.`;
  throw new ApiError('invalid_request', { param: `auth.${member}`, message });
}

function checkSecret(given: string): string {
  // Pasted tokens tend to bring a line break along.
  const secret = given.trim();
  if (secret === '') throw new ApiError('secret_required', { param: 'auth.secret' });
  if (/^[\x21-\x7e]+$/.test(secret)) return secret;
  const message =
    '`auth.secret` holds characters that no token has. Copy it again; it is plain letters, digits and signs.';
  throw new ApiError('invalid_request', { param: 'auth.secret', message });
}

function checkPolicy(rules: readonly { readonly match: string; readonly require?: string | null }[]): McpPolicyRule[] {
  return rules.map(({ match, require: asked }, index) => {
    if (match.startsWith('@') && !HINT_SELECTORS.includes(match)) {
      const message = `${JSON.stringify(match)} is no hint. Use ${HINT_SELECTORS.join(', ')}, or a glob over names.`;
      throw new ApiError('invalid_approval_policy', { param: `approval_policy.${index}.match`, message });
    }
    const required = asked ?? 'always';
    if (required === 'always' || required === 'never') return { match, require: required };
    throw new ApiError('unsupported_policy_rule', { param: `approval_policy.${index}.require` });
  });
}
