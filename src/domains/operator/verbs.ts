/** What an operator can ask the domain service for, and what is answered. */
import Type from 'typebox';
import type { AnswerOf, OperatorVerbs } from '../../kernel/operator/index.ts';

const workspace = Type.Optional(Type.String());
const scope = Type.Union([Type.Literal('read'), Type.Literal('write')]);

const wallet = {
  workspace_id: Type.String(),
  workspace_name: Type.String(),
  available_cents: Type.Integer(),
  held_cents: Type.Integer(),
};

/** `workspace` is a workspace's id or a user's e-mail address; it may be left out where there is one workspace. */
const verbs = {
  mint_token: {
    request: Type.Object({ workspace, scope, name: Type.String() }),
    answer: Type.Object({
      id: Type.String(),
      token: Type.String(),
      scope,
      name: Type.String(),
      workspace_id: Type.String(),
      workspace_name: Type.String(),
    }),
  },
  /** `token` is its id, or the token itself. */
  revoke_token: {
    request: Type.Object({ token: Type.String() }),
    answer: Type.Object({ id: Type.String(), workspace_id: Type.String(), revoked_at: Type.String() }),
  },
  top_up: {
    request: Type.Object({
      workspace,
      cents: Type.Integer({ minimum: 1, maximum: 100_000_000 }),
      note: Type.String({ maxLength: 500 }),
    }),
    answer: Type.Object({ ...wallet, credited_cents: Type.Integer(), reference: Type.String() }),
  },
  show_wallet: {
    request: Type.Object({ workspace }),
    answer: Type.Object({
      ...wallet,
      /** The last bookings, newest first; cents are what they moved in and out of `available` and `held`. */
      bookings: Type.Array(
        Type.Object({
          at: Type.String(),
          kind: Type.String(),
          reference: Type.String(),
          description: Type.String(),
          available_cents: Type.Integer(),
          held_cents: Type.Integer(),
        }),
      ),
    }),
  },
} as const;

export type DomainVerbs = typeof verbs;
export const domainVerbs: OperatorVerbs<DomainVerbs> = { service: 'domains', verbs };

export type Bookings = AnswerOf<DomainVerbs, 'show_wallet'>['bookings'];
