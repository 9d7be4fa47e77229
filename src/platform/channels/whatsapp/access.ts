/** What of an account calls Graph. */
import type { OpenAccount } from '../channel.ts';
import { textAt } from '../provider/read-json.ts';
import { GRAPH_URL, type GraphAccess } from './graph.ts';

export function accessOf({ settings, secrets }: OpenAccount): GraphAccess {
  return {
    baseUrl: textAt(settings, 'api_base_url') ?? GRAPH_URL,
    accessToken: secrets.access_token ?? '',
    appSecret: secrets.app_secret ?? '',
  };
}
