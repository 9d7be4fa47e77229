import { HttpReply } from '../../../kernel/http/operation.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { open } from '../../access/operation.ts';
import type { SigningKeys } from '../../access/signing-keys.ts';
import { JsonWebKeySet } from './schema.ts';

/** How long others may keep the set. A reader that meets an unknown `kid` should ask again at once. */
const MAX_AGE_SECONDS = 300;

export function jwksOperations({ keys }: { keys: Pick<SigningKeys, 'publicKeys'> }) {
  return [
    open.read({
      id: 'oauth.jwks',
      method: 'GET',
      path: '/.well-known/jwks.json',
      posture: 'public',
      summary: 'Get the keys that verify tokens',
      description:
        'RFC 7517. Each token’s `kid` names its key; a key that no longer signs stays while it still verifies.',
      query: Type.Object({}),
      reply: JsonWebKeySet,
      handler: async () =>
        new HttpReply(
          200,
          { keys: await keys.publicKeys() },
          { 'cache-control': `public, max-age=${MAX_AGE_SECONDS}` },
        ),
    }),
  ];
}
