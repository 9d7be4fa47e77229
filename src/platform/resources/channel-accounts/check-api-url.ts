import { ApiError } from '../../../kernel/http/errors.ts';
import { type Outbound, OutboundError } from '../../../kernel/outbound/outbound.ts';

/** Looks the host up. Without the slashes that it ends with. Throws `invalid_url`. */
export async function checkApiUrl(
  outbound: Pick<Outbound, 'checkUrl'>,
  given: string | null | undefined,
  usual: string,
): Promise<string> {
  if (given == null) return usual;
  const url = await outbound.checkUrl(given, { policy: 'public', httpsOnly: true }).catch((error: unknown) => {
    throw error instanceof OutboundError ? refuse(error.message) : error;
  });
  // Paths are appended to it.
  if (url.search !== '' || url.hash !== '') throw refuse('it has a query or a fragment; end it with the path');
  return url.href.replace(/\/+$/, '');
}

function refuse(why: string): ApiError {
  return new ApiError('invalid_url', { param: 'api_base_url', message: `\`api_base_url\` is refused: ${why}.` });
}
