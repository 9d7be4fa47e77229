/** What an operator can ask for, and what is answered: shapes that also travel over the operator's socket. */
import Type, { type Static, type TSchema } from 'typebox';
import { createValidators, type Validator } from '../../kernel/http/validation.ts';

const workspace = Type.Optional(Type.String());
const scope = Type.Union([Type.Literal('read'), Type.Literal('write')]);

const wallet = {
  workspace_id: Type.String(),
  workspace_name: Type.String(),
  available_cents: Type.Integer(),
  held_cents: Type.Integer(),
};

/** `workspace` is a workspace's id or a user's e-mail address; it may be left out where there is one workspace. */
export const verbs = {
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

export type OperatorVerb = keyof typeof verbs;
export type RequestOf<Verb extends OperatorVerb> = Static<(typeof verbs)[Verb]['request']>;
export type AnswerOf<Verb extends OperatorVerb> = Static<(typeof verbs)[Verb]['answer']>;

export function isOperatorVerb(text: string): text is OperatorVerb {
  return Object.hasOwn(verbs, text);
}

const validators = new Map<TSchema, Validator>();

export function isRequestOf<Verb extends OperatorVerb>(verb: Verb, body: unknown): body is RequestOf<Verb> {
  return matches(verbs[verb].request, body);
}

export function isAnswerOf<Verb extends OperatorVerb>(verb: Verb, body: unknown): body is AnswerOf<Verb> {
  return matches(verbs[verb].answer, body);
}

function matches(schema: TSchema, body: unknown): boolean {
  const validator = validators.get(schema) ?? createValidators(new Map()).compile('body', schema);
  validators.set(schema, validator);
  return validator(body);
}

/** A refusal for the operator to read; says what to do next. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}
