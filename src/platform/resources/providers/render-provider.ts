import type { OAuthProvider } from './schema.ts';
import type { ProviderRow } from './store.ts';

/** The public shape of a row. */
export function renderProvider({ names_itself, ...shown }: ProviderRow): OAuthProvider {
  return shown;
}
