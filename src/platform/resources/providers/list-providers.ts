import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { renderProvider } from './render-provider.ts';
import type { OAuthProvider, OAuthProviderList, ProviderPath } from './schema.ts';
import { findProvider, listProviders as listRows } from './store.ts';

export async function listProviders({ db }: ProjectRead): Promise<OAuthProviderList> {
  return { data: (await listRows(db)).map(renderProvider) };
}

export async function getProvider({ db, params }: ProjectRead<{ params: ProviderPath }>): Promise<OAuthProvider> {
  const row = await findProvider(db, params.provider);
  if (row === undefined) throw new ApiError('not_found');
  return renderProvider(row);
}
