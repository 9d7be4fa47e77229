import type { Static } from 'typebox';
import { closedObject, component, oneOf, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

export const SignInRequest = component(
  'SignInRequest',
  closedObject({
    email: Type.String({ minLength: 3, maxLength: 400, description: 'That of the sign-up, in whatever case.' }),
  }),
);
export type SignInRequest = Static<typeof SignInRequest>;

export const SignInRequested = component(
  'SignInRequested',
  Type.Object({
    status: oneOf(['Requested'], { description: 'The same whether there is such an account or not.' }),
    expires_in_minutes: Type.Integer({ description: 'How long the link in the message works, from its sending on.' }),
  }),
);
export type SignInRequested = Static<typeof SignInRequested>;

export const SignInCode = component(
  'SignInCode',
  closedObject({
    code: Type.String({ minLength: 1, maxLength: 100, description: 'What stands behind `#` in the link.' }),
  }),
);
export type SignInCode = Static<typeof SignInCode>;

export const SignedIn = component(
  'SignedIn',
  Type.Object({
    user_id: Type.String(),
    workspace_id: Type.String(),
    token: Type.Object({
      id: Type.String(),
      token: Type.String({ description: 'Send it as `Authorization: Bearer <token>`. It is shown this once.' }),
      scope: oneOf(['read', 'write']),
      name: Type.String(),
      created_at: timestamp(),
    }),
  }),
);
export type SignedIn = Static<typeof SignedIn>;
