/** What an operator can ask the platform for, and what is answered. */
import { Type } from '../../kernel/http/type-builder.ts';
import type { OperatorVerbs } from '../../kernel/operator/index.ts';

export const MAX_NAME_LENGTH = 200;
/** Up to 254 characters (RFC 5321, section 4.5.3.1.3). */
export const MAIL_ADDRESS = /^(?=.{3,254}$)[^\s@<>,]+@[^\s@<>,]+$/;
export const MAX_CENTS = 100_000_000;
/** Minted at once. */
export const MAX_CODES = 1_000;

const owner = Type.Optional(Type.String({ description: 'An id or a name; it may be left out where there is one.' }));
const name = Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH });
const contact = Type.String({ pattern: MAIL_ADDRESS.source });
const ttlSeconds = Type.Optional(Type.Integer({ minimum: 1 }));

const chainPlace = Type.Object({
  position: Type.Integer({ minimum: 0 }),
  hash: Type.String({ pattern: '^[0-9a-f]{64}$' }),
});

const verbs = {
  mint_token: {
    request: Type.Union([
      Type.Object({
        scope: Type.Literal('organization'),
        organization: owner,
        name: Type.Optional(name),
      }),
      Type.Object({
        scope: Type.Literal('admin'),
        organization: owner,
        project: owner,
        ttl_seconds: ttlSeconds,
        name: Type.Optional(name),
      }),
      Type.Object({
        scope: Type.Literal('smith'),
        organization: owner,
        project: owner,
        smith_id: Type.String(),
        permissions: Type.Array(Type.String(), { minItems: 1 }),
        ttl_seconds: ttlSeconds,
        name: Type.Optional(name),
      }),
    ]),
    answer: Type.Object({
      id: Type.String(),
      token: Type.String(),
      sub: Type.String(),
      scopes: Type.Array(Type.String()),
      expires_at: Type.Union([Type.String(), Type.Null()]),
    }),
  },
  mint_codes: {
    request: Type.Object({
      amount_cents: Type.Integer({ minimum: 1, maximum: MAX_CENTS }),
      count: Type.Integer({ minimum: 1, maximum: MAX_CODES }),
      expires_at: Type.Union([Type.String(), Type.Null()]),
    }),
    answer: Type.Object({ codes: Type.Array(Type.String()) }),
  },
  adjust_wallet: {
    request: Type.Object({
      organization: owner,
      amount_cents: Type.Integer({ minimum: -MAX_CENTS, maximum: MAX_CENTS }),
      currency: Type.String(),
      note: Type.String({ maxLength: MAX_NAME_LENGTH }),
    }),
    answer: Type.Object({
      organization_id: Type.String(),
      organization_name: Type.String(),
      balance_cents: Type.Integer(),
    }),
  },
  create_organization: {
    request: Type.Object({ name, contact_email: Type.Optional(contact) }),
    answer: Type.Object({ organization_id: Type.String(), name: Type.String(), organization_key: Type.String() }),
  },
  update_organization: {
    request: Type.Object({
      organization: owner,
      name: Type.Optional(name),
      contact_email: Type.Optional(Type.Union([contact, Type.Null()])),
    }),
    answer: Type.Object({
      organization_id: Type.String(),
      name: Type.String(),
      contact_email: Type.Union([Type.String(), Type.Null()]),
    }),
  },
  /** Proves the chain of a project's events from a place on, for some seconds; the whole feed takes several calls. */
  verify_events: {
    request: Type.Object({
      /** Without one: the first of those that are asked for. */
      project_id: Type.Optional(Type.String()),
      after: Type.Optional(chainPlace),
      /** A link that the chain must have. */
      head: Type.Optional(chainPlace),
    }),
    answer: Type.Object({
      project_id: Type.Union([Type.String(), Type.Null()]),
      /** The last link that was proven. */
      place: chainPlace,
      broken: Type.Union([
        Type.Object({ position: Type.Integer(), event_id: Type.String(), reason: Type.String() }),
        Type.Null(),
      ]),
      is_end: Type.Boolean(),
      /** The project after this one. */
      next_project_id: Type.Union([Type.String(), Type.Null()]),
    }),
  },
} as const;

export type PlatformVerbs = typeof verbs;
export const platformVerbs: OperatorVerbs<PlatformVerbs> = { service: 'platform', verbs };
