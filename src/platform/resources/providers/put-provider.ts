import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { actorOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { clientSecretContext } from '../../connections/index.ts';
import { appendEvent } from '../../feed/append-event.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';
import type { ClientAuthMethod } from '../../tables.ts';
import { type CheckedProvider, checkProvider } from './check-provider.ts';
import type { ProviderDependencies } from './dependencies.ts';
import { renderProvider } from './render-provider.ts';
import type { OAuthProvider, OAuthProviderIn, ProviderPath } from './schema.ts';
import {
  countProviders,
  findProvider,
  holdProvider,
  type NewSecret,
  type ProviderRow,
  putProvider as put,
} from './store.ts';

/** Of one project. */
const PROVIDERS_MAX = 100;

type Request = ProjectRead<{ params: ProviderPath; body: OAuthProviderIn }>;

/** The provider's addresses are looked up before the transaction begins. */
export function putProvider(deps: ProviderDependencies) {
  return async (request: Request): Promise<OAuthProvider> => {
    const checked = await checkProvider(deps.outbound, request.params.provider, request.body);
    return request.db.transaction((tx) => save(deps, tx, request, checked));
  };
}

async function save(
  deps: ProviderDependencies,
  tx: TenantTransaction,
  { caller }: Request,
  checked: CheckedProvider,
): Promise<OAuthProvider> {
  const { saved } = checked;
  const present = await holdProvider(tx, saved.provider);
  if (present === undefined && (await countProviders(tx)) >= PROVIDERS_MAX) {
    const message = `A project has at most ${PROVIDERS_MAX} OAuth providers. Delete one first.`;
    throw new ApiError('invalid_request', { message });
  }
  const hasSecret = checked.secret === undefined ? keepsSecret(present, checked) : checked.secret !== null;
  const token_endpoint_auth_method = chooseMethod(checked, hasSecret);
  await put(tx, { ...saved, token_endpoint_auth_method }, sealSecret(deps, tx.projectId, checked.secret));
  await appendEvent(tx, {
    type: 'provider.updated',
    actor: actorOf(caller),
    data: {
      provider: saved.provider,
      client_id: saved.client_id,
      scopes_allowed: saved.scopes_allowed,
      // Removing one that is not there replaces nothing.
      secret_replaced: checked.secret != null || (checked.secret === null && present?.has_secret === true),
    },
  });
  const row = await findProvider(tx, saved.provider);
  if (row === undefined) throw new Error('a provider that was just saved is not there');
  return renderProvider(row);
}

/** Whoever edits the address must not have the secret sent to another server. */
function keepsSecret(present: ProviderRow | undefined, { saved }: CheckedProvider): boolean {
  if (present?.has_secret !== true) return false;
  if (new URL(present.token_endpoint).origin === new URL(saved.token_endpoint).origin) return true;
  const message =
    'The origin of `token_endpoint` is another one than before. Send `client_secret` again, or null if there is none.';
  throw new ApiError('secret_required', { param: 'client_secret', message });
}

const SECRET_METHODS: readonly ClientAuthMethod[] = ['client_secret_basic', 'client_secret_post'];

function chooseMethod({ method, methodsOffered }: CheckedProvider, hasSecret: boolean): ClientAuthMethod {
  if (method !== undefined) {
    if (hasSecret || !SECRET_METHODS.includes(method)) return method;
    const message = `\`${method}\` takes a secret. Send it in \`client_secret\`.`;
    throw new ApiError('secret_required', { param: 'client_secret', message });
  }
  if (!hasSecret) return 'none';
  // RFC 8414 section 2: what an issuer offers that says nothing.
  return SECRET_METHODS.find((each) => methodsOffered?.includes(each)) ?? 'client_secret_basic';
}

function sealSecret(
  { vault }: ProviderDependencies,
  projectId: string,
  secret: string | null | undefined,
): NewSecret | undefined {
  if (secret === undefined) return undefined;
  if (secret === null) return { secret_id: null, sealed_client_secret: null };
  const secret_id = mintId('secret');
  return { secret_id, sealed_client_secret: vault.seal(secret, clientSecretContext(projectId, secret_id)) };
}
