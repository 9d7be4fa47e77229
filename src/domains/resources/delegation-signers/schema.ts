/** What the zone above says of a name's keys (DS, RFC 4034 5), where the name's zone is signed elsewhere. */
import type { Static } from 'typebox';
import { closedObject, component, nullable, oneOf, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

/** What registries take, and one answer of theirs holds. */
const MOST = 13;

const DsRecordShown = component(
  'DsRecord',
  closedObject({
    key_tag: Type.Integer({ minimum: 0, maximum: 65_535 }),
    algorithm: Type.Integer({ minimum: 1, maximum: 255, description: 'Of the key: 8, 10, 13, 14, 15 or 16.' }),
    digest_type: Type.Integer({ minimum: 1, maximum: 255, description: '2 (SHA-256) or 4 (SHA-384).' }),
    digest: Type.String({ minLength: 1, maxLength: 200, description: 'In hex, 64 or 96 digits; spaces are left out.' }),
    flags: Type.Optional(
      Type.Integer({
        minimum: 256,
        maximum: 257,
        description: 'Of the key, with `public_key`; 257 where it is left out.',
      }),
    ),
    public_key: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2_000,
        description: 'The key itself (DNSKEY), in base64: for registries that take keys and make DS records of them.',
      }),
    ),
  }),
);

export const DelegationSigners = component(
  'DelegationSigners',
  Type.Object({
    domain: Type.String(),
    ds_records: Type.Array(DsRecordShown),
    syncedAt: nullable(timestamp(), { description: 'When the registry reported these; null while it has not.' }),
    status: oneOf(['Completed', 'Pending'], {
      description: '`Pending`: the registry has taken a change and completes it.',
    }),
  }),
);

export const DelegationSignersChange = component(
  'DelegationSignersChange',
  closedObject({
    ds_records: Type.Array(DsRecordShown, {
      maxItems: MOST,
      description: 'All of them, in place of those that are there.',
    }),
  }),
);

export const DelegationSignersPath = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 1000, description: 'The domain, in punycode or in Unicode.' }),
});

export type DsRecordShown = Static<typeof DsRecordShown>;
export type DelegationSigners = Static<typeof DelegationSigners>;
export type DelegationSignersChange = Static<typeof DelegationSignersChange>;
export type DelegationSignersPath = Static<typeof DelegationSignersPath>;
