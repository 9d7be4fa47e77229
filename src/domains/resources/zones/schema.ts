/** A hosted zone: the DNS records of a domain whose nameservers are the service's. */
import type { Static } from 'typebox';
import { closedObject, component, nullable, oneOf, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { recordTypes } from '../../dns/index.ts';

/** The service's own records are of these types too. */
const typesShown = [...recordTypes, 'SOA'] as const;

export const aliasProblems = ['no_such_name', 'no_addresses', 'private_addresses', 'loop', 'no_answer'] as const;

const AliasState = component(
  'AliasState',
  Type.Object({
    state: oneOf(['pending', 'current', 'kept', 'failed'], {
      description:
        '`pending`: not looked up yet. `kept`: the target gives no answer, and its last addresses are served on for a day. `failed`: none are served.',
    }),
    addresses: Type.Array(Type.String(), { description: 'What the domain’s own name has as A and AAAA.' }),
    resolved_at: nullable(timestamp(), { description: 'When the target last answered with addresses.' }),
    problem: nullable(oneOf(aliasProblems), { description: 'Why the last look brought none.' }),
  }),
);

export const DnsRecord = component(
  'DnsRecord',
  Type.Object({
    id: nullable(Type.String(), { description: 'Null for records that are managed.' }),
    subdomain: Type.String({ description: 'Relative to the domain; `@` is the domain itself.' }),
    name: Type.String({ description: 'The whole name, without its last dot.' }),
    type: oneOf(typesShown),
    value: Type.String({ description: 'As in a zone file: `192.0.2.1`, `10 mail.example.net.`, `"v=spf1 -all"`.' }),
    ttl: Type.Integer({ description: 'Seconds. All records of one name and type have the same.' }),
    managed: Type.Boolean({ description: 'Kept by the service; it can be neither added nor deleted.' }),
    created_at: nullable(timestamp()),
    alias: Type.Optional(AliasState),
  }),
);

export const Zone = component(
  'Zone',
  Type.Object({
    domain: Type.String(),
    nameservers: Type.Array(Type.String()),
    serial: Type.Integer({ description: 'Grows with each change; the serial of the SOA record.' }),
    published: Type.Boolean({ description: 'Whether the nameservers answer with these records already.' }),
    dnssec: Type.Object({
      state: oneOf(['off', 'enabling', 'on', 'disabling'], {
        description: 'What `dnssec` of the settings has led to.',
      }),
      problem: nullable(Type.String(), { description: 'Why it takes so long, or was not turned on; for people.' }),
    }),
    records: Type.Array(DnsRecord),
  }),
);

export const DeletedRecord = component(
  'DeletedDnsRecord',
  Type.Object({ deleted: Type.Literal(true), record: DnsRecord }),
);

/** Seconds. */
export const SHORTEST_TTL = 60;
export const LONGEST_TTL = 604_800;

const number16 = (description: string) => Type.Optional(Type.Integer({ minimum: 0, maximum: 65_535, description }));

/** Longer than any value in canonical form, in which each byte of a text may take four characters. */
const VALUE_LENGTH = 20_000;

const namedRecord = {
  subdomain: Type.String({
    maxLength: 1_000,
    description:
      'Relative to the domain: `www`, `_dmarc`, `*.shop`; `@` or empty is the domain itself. Unicode becomes punycode. A name that ends with a dot is absolute.',
  }),
  type: oneOf(recordTypes),
  value: Type.String({
    minLength: 1,
    maxLength: VALUE_LENGTH,
    description:
      'As in a zone file. Hosts are whole names, with or without the last dot; `@` is the domain. Text (TXT) may come without quotes. Numbers may come in members of their own instead.',
  }),
  priority: number16('MX and SRV, unless `value` begins with it.'),
  weight: number16('SRV, unless `value` has it.'),
  port: number16('SRV, unless `value` has it.'),
  flags: Type.Optional(Type.Integer({ minimum: 0, maximum: 255, description: 'CAA, unless `value` has it.' })),
  tag: Type.Optional(Type.String({ maxLength: 15, description: 'CAA, unless `value` has it.' })),
};

export const DnsRecordCreate = component(
  'DnsRecordCreate',
  closedObject({
    ...namedRecord,
    ttl: Type.Optional(
      Type.Integer({
        minimum: SHORTEST_TTL,
        maximum: LONGEST_TTL,
        description:
          'Seconds. Becomes the TTL of all records of this name and type. Default: the one that these have, or 3600.',
      }),
    ),
  }),
);

const ttl = Type.Optional(
  Type.Integer({
    minimum: SHORTEST_TTL,
    maximum: LONGEST_TTL,
    description: 'Seconds. Becomes the TTL of all records of this name and type.',
  }),
);

const optionalMembers = {
  ...namedRecord,
  subdomain: Type.Optional(namedRecord.subdomain),
  type: Type.Optional(namedRecord.type),
  value: Type.Optional(namedRecord.value),
};

const { type: _, ...updatedMembers } = optionalMembers;

export const DnsRecordUpdate = component('DnsRecordUpdate', closedObject({ ...updatedMembers, ttl }));

/** Of one call: half of what a zone may have. */
const MOST_CHANGES = 500;

export const DnsChange = component(
  'DnsChange',
  closedObject({
    action: oneOf(['create', 'update', 'delete'] as const),
    id: Type.Optional(
      Type.String({ maxLength: 100, description: 'Of the record to update, or to delete in place of naming it.' }),
    ),
    ...optionalMembers,
    ttl,
  }),
);

export const DnsChanges = component(
  'DnsChanges',
  closedObject({
    changes: Type.Array(DnsChange, {
      minItems: 1,
      maxItems: MOST_CHANGES,
      description:
        '`create` takes what a new record has; `update` an `id` and what is to be different; `delete` an `id`, or subdomain, type and value. Each record once. Their order does not matter: an A record may be deleted behind the CNAME that takes its place.',
    }),
  }),
);

export const ChangedDnsRecords = component(
  'ChangedDnsRecords',
  Type.Object({
    domain: Type.String(),
    serial: Type.Integer({ description: 'One more than before, however many records are different.' }),
    added: Type.Integer(),
    changed: Type.Integer({ description: 'Also those whose TTL changed with that of another.' }),
    deleted: Type.Integer(),
    records: Type.Array(DnsRecord, {
      description: 'One for each change, in their order: as it is now; what was deleted as it was.',
    }),
  }),
);

/** Members may be in the body or in the query: not every client sends a body along with DELETE. */
export const DnsRecordNamed = component(
  'DnsRecordNamed',
  closedObject({
    ...namedRecord,
    subdomain: Type.Optional(namedRecord.subdomain),
    type: Type.Optional(namedRecord.type),
    value: Type.Optional(namedRecord.value),
  }),
);

export const DnsRecordQuery = Type.Object({
  ...namedRecord,
  subdomain: Type.Optional(namedRecord.subdomain),
  type: Type.Optional(namedRecord.type),
  value: Type.Optional(namedRecord.value),
});

export const ZoneFile = component(
  'ZoneFile',
  Type.Object({
    domain: Type.String(),
    serial: Type.Integer({ description: 'As in the SOA record.' }),
    zone_file: Type.String({
      description: 'A whole zone file (RFC 1035, section 5): SOA and NS, then every record, one a line.',
    }),
  }),
);

export const ZoneFileUpload = component(
  'ZoneFileUpload',
  closedObject({
    zone_file: Type.String({
      minLength: 1,
      maxLength: 262_144,
      description:
        'A zone file (RFC 1035, section 5) with or without `$ORIGIN` and `$TTL`, which begin as the domain and an hour. `$INCLUDE` and `$GENERATE` are refused. SOA, NS of the domain itself and what signing adds (DNSKEY, RRSIG and the like) are the service’s: they are left out and counted in `skipped`. TTLs below 60 seconds become 60, those above a week a week; of several for one name and type the shortest counts.',
    }),
    keep_others: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Records that the file does not have stay. Without it they are deleted.',
      }),
    ),
  }),
);

export const ImportedZone = component(
  'ImportedZone',
  Type.Object({
    domain: Type.String(),
    added: Type.Integer(),
    changed: Type.Integer({ description: 'Records with another TTL than before.' }),
    deleted: Type.Integer(),
    unchanged: Type.Integer(),
    skipped: Type.Array(Type.Object({ type: Type.String(), count: Type.Integer() }), {
      description: 'Records of the file that the service makes itself.',
    }),
  }),
);

export const RecordPath = Type.Object({
  name: Type.String({ description: 'The domain.' }),
  record_id: Type.String({ description: 'As `GET …/zone` lists it.' }),
});

export const ZonePath = Type.Object({ name: Type.String({ description: 'The domain.' }) });

export type DnsRecord = Static<typeof DnsRecord>;
export type Zone = Static<typeof Zone>;
export type DnsRecordCreate = Static<typeof DnsRecordCreate>;
export type DnsRecordNamed = Static<typeof DnsRecordNamed>;
export type DnsRecordQuery = Static<typeof DnsRecordQuery>;
export type ZoneFile = Static<typeof ZoneFile>;
export type ZoneFileUpload = Static<typeof ZoneFileUpload>;
export type ImportedZone = Static<typeof ImportedZone>;
export type DnsRecordUpdate = Static<typeof DnsRecordUpdate>;
export type DnsChange = Static<typeof DnsChange>;
export type DnsChanges = Static<typeof DnsChanges>;
export type ChangedDnsRecords = Static<typeof ChangedDnsRecords>;
export type RecordPath = Static<typeof RecordPath>;
export type ZonePath = Static<typeof ZonePath>;
