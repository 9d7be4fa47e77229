import { HttpReply } from '../../../kernel/http/operation.ts';
import { type OAuthDependencies, openIdConfiguration, serverMetadata } from '../../authorization-server/index.ts';

/** How long others may keep what is the same until the server is configured anew. */
export const DISCOVERY_HEADERS = { 'cache-control': 'public, max-age=300' } as const;

export function getServerMetadata({ publicUrl }: Pick<OAuthDependencies, 'publicUrl'>) {
  return async () => new HttpReply(200, serverMetadata(publicUrl), DISCOVERY_HEADERS);
}

export function getOpenIdConfiguration({ publicUrl }: Pick<OAuthDependencies, 'publicUrl'>) {
  return async () => new HttpReply(200, openIdConfiguration(publicUrl), DISCOVERY_HEADERS);
}
