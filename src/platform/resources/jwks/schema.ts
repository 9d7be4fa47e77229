/** The public half of the signing keys, as RFC 7517 and RFC 7518 section 6.3.1 name its members. */

import { component } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

// Only these members can leave: the serializer drops any other, a private one included.
const JsonWebKey = component(
  'JsonWebKey',
  Type.Object({
    kty: Type.String(),
    kid: Type.String(),
    alg: Type.String(),
    use: Type.String(),
    n: Type.String({ description: 'Modulus, base64url.' }),
    e: Type.String({ description: 'Exponent, base64url.' }),
  }),
);

export const JsonWebKeySet = component('JsonWebKeySet', Type.Object({ keys: Type.Array(JsonWebKey) }));
