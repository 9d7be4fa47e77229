import type { Static } from 'typebox';
import { component, oneOf } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

export const AuthCodePath = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 1000, description: 'The domain, in punycode or in Unicode.' }),
});

export const SentAuthCode = component(
  'SentAuthCode',
  Type.Object({
    domain: Type.String(),
    sent_to: Type.String({ description: 'The registrant’s address, masked: `a***@example.com`.' }),
    status: oneOf(['Completed', 'Pending'], {
      description:
        '`Pending`: the registry has taken the code, and it works in seconds to minutes; or it cannot be asked at this moment, and the mail comes later.',
    }),
  }),
);
export type SentAuthCode = Static<typeof SentAuthCode>;
