import type { McpChallenge } from './failure.ts';

type ReadHeader = (response: Response) => { scope?: string; resourceMetadataUrl?: URL; error?: string };

/** A `fetch` that tells of each answer by which the server refuses who calls. */
export function watchChallenges(
  fetch: typeof globalThis.fetch,
  readHeader: ReadHeader,
  onChallenge: (challenge: McpChallenge) => void,
): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.status !== 401 && response.status !== 403) return response;
    const { scope, resourceMetadataUrl, error } = readHeader(response);
    const isForScope = error === 'insufficient_scope';
    // Any other 403 has nothing to do with the token.
    if (response.status === 403 && !isForScope) return response;
    onChallenge({
      isForScope,
      ...(scope === undefined ? {} : { scope }),
      ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
    });
    return response;
  };
}
