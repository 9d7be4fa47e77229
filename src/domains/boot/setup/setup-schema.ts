/** The file of registries, TLDs and prices (IRONCRAFT_DOMAINS_CONFIG_FILE), as an operator writes it. docs/registrar.md explains it. */
import Type, { type Static, type TProperties } from 'typebox';
import { oneOf } from '../../../kernel/http/schema.ts';
import { LAUNCH_PHASES, MARK_KINDS } from '../../registry/registry.ts';

/** What is misspelt must not be lost in silence. */
export function closedObject<P extends TProperties>(properties: P) {
  return Type.Object(properties, { additionalProperties: false });
}

const file = Type.String({ minLength: 1, maxLength: 4_096 });
const currency = Type.String({ pattern: '^[A-Z]{3}$' });
const amount = Type.Number({ minimum: 0, maximum: 1_000_000 });
const date = Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d(T\\d\\d:\\d\\d(:\\d\\d)?Z)?$' });
const years = closedObject({
  min: Type.Integer({ minimum: 1, maximum: 10 }),
  max: Type.Integer({ minimum: 1, maximum: 10 }),
});

/** Where a secret is: never the secret itself. */
const secret = Type.Union([
  closedObject({ file }),
  closedObject({ env: Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }) }),
]);

/** Names of extensions, as operators know them. */
export const EXTENSIONS = ['secDNS', 'rgp', 'fee', 'changePoll', 'loginSec', 'secureAuthInfo'] as const;

const MEANINGS = [
  'object_exists',
  'object_does_not_exist',
  'not_authorized',
  'bad_auth_code',
  'status_prohibits',
  'not_eligible',
  'pending_transfer',
  'wrong_expiry',
  'policy',
  'in_use',
  'no_credit',
  'other',
  'unknown',
] as const;

/** Of the fee extension: of RFC 8748, and the drafts before it. */
export const FEE_VERSIONS = ['1.0', '0.21', '0.11', '0.9', '0.8', '0.7', '0.6', '0.5'] as const;
/** The forms of a trade: AFNIC's extension and its version, as the greeting of the registry names it. */
export const TRADES = ['frnic-1.2', 'frnic-1.4', 'frnic-2.0'] as const;
/** A registry of several behind one server, as Verisign names it. */
const product = Type.String({ pattern: '^[A-Za-z0-9_.-]{1,64}$' });

const RegistrySetup = closedObject({
  id: Type.String({ pattern: '^[a-z][a-z0-9-]{0,31}$' }),
  endpoint: Type.String(),
  client_id: Type.String({ minLength: 1, maxLength: 64 }),
  password: secret,
  ca_file: Type.Optional(file),
  server_name: Type.Optional(Type.String({ minLength: 1, maxLength: 253 })),
  certificate: Type.Optional(closedObject({ cert_file: file, key_file: file })),
  connections: Type.Optional(Type.Integer({ minimum: 1, maximum: 50 })),
  extensions: Type.Optional(Type.Array(oneOf(EXTENSIONS), { uniqueItems: true })),
  hosts: Type.Optional(oneOf(['objects', 'attributes'])),
  dnssec: Type.Optional(oneOf(['ds', 'keys'])),
  contacts: Type.Optional(oneOf(['objects', 'no_disclose', 'none'])),
  contact_types: Type.Optional(Type.Array(oneOf(['admin', 'tech', 'billing']), { uniqueItems: true })),
  fees: Type.Optional(
    Type.Union([
      Type.Literal(false),
      closedObject({ currency: Type.Optional(currency), version: Type.Optional(oneOf(FEE_VERSIONS)) }),
    ]),
  ),
  name_store: Type.Optional(
    Type.Union([Type.Boolean(), Type.Record(Type.String({ pattern: '^[a-z0-9.-]{1,253}$' }), product)]),
  ),
  trade: Type.Optional(oneOf(TRADES)),
  check_batch_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  auto_renew_grace_days: Type.Optional(Type.Integer({ minimum: 3, maximum: 90 })),
  add_grace: Type.Optional(
    closedObject({ days: Type.Integer({ minimum: 1, maximum: 30 }), fee: Type.Optional(amount) }),
  ),
  lock_new_names: Type.Optional(Type.Boolean()),
  balance: Type.Optional(closedObject({ warn_below: amount })),
  commands: Type.Optional(
    closedObject({
      per_second: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
      per_minute: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
    }),
  ),
  daily_look: Type.Optional(closedObject({ commands: Type.Integer({ minimum: 1, maximum: 10_000_000 }) })),
  quirks: Type.Optional(
    closedObject({
      result_codes: Type.Optional(Type.Record(Type.String({ pattern: '^2[0-9]{3}$' }), oneOf(MEANINGS))),
      no_poll: Type.Optional(Type.Boolean()),
    }),
  ),
});

const retail = {
  register: Type.Optional(amount),
  renew: Type.Optional(amount),
  transfer: Type.Optional(amount),
  trade: Type.Optional(amount),
  restore: Type.Optional(amount),
  application: Type.Optional(amount),
};

const PricesSetup = closedObject({
  from: Type.Optional(date),
  cost: Type.Optional(
    closedObject({
      currency,
      register: Type.Optional(amount),
      renew: Type.Optional(amount),
      transfer: Type.Optional(amount),
      trade: Type.Optional(amount),
      restore: Type.Optional(amount),
      application: Type.Optional(amount),
    }),
  ),
  margin: Type.Optional(
    closedObject({
      percent: Type.Optional(Type.Number({ minimum: 0, maximum: 10_000 })),
      add: Type.Optional(amount),
    }),
  ),
  retail: Type.Optional(closedObject(retail)),
});

const TldSetup = closedObject({
  tld: Type.String({ pattern: '^[a-z0-9-]+(\\.[a-z0-9-]+)*$', maxLength: 253 }),
  registry: Type.Optional(Type.String()),
  register_years: Type.Optional(years),
  renew_years: Type.Optional(years),
  transfer_years: Type.Optional(Type.Integer({ minimum: 0, maximum: 10 })),
  max_term_years: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 })),
  deletes: Type.Optional(oneOf(['at_once', 'at_expiry'])),
  grace_days: Type.Optional(Type.Integer({ minimum: 0, maximum: 90 })),
  redemption_days: Type.Optional(Type.Integer({ minimum: 0, maximum: 90 })),
  verify_registrants_from: Type.Optional(date),
  registrant_changes: Type.Optional(
    closedObject({
      consent: Type.Literal(true),
      lock_days: Type.Optional(Type.Integer({ minimum: 0, maximum: 60 })),
      designated_agent: Type.Optional(Type.Boolean()),
    }),
  ),
  prices: Type.Optional(Type.Array(PricesSetup, { minItems: 1 })),
  promotions: Type.Optional(Type.Array(closedObject({ from: date, until: date, ...retail }))),
  launch: Type.Optional(
    closedObject({
      phase: oneOf(LAUNCH_PHASES),
      name: Type.Optional(Type.String({ minLength: 1, maxLength: 64, pattern: '^\\S+$' })),
      until: Type.Optional(date),
      applications: Type.Optional(Type.Boolean()),
      refunds_lost: Type.Optional(Type.Boolean()),
      requires: Type.Optional(oneOf([...MARK_KINDS, 'claims_notice', 'nothing'])),
      validator: Type.Optional(Type.String({ pattern: '^[!-~]{1,255}$' })),
    }),
  ),
  idn: Type.Optional(
    closedObject({
      extension: oneOf(['idn', 'idnLang']),
      tables: Type.Array(
        closedObject({
          tag: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
          script: Type.Optional(Type.String({ pattern: '^[A-Za-z_]{2,40}$' })),
          characters: Type.Optional(Type.String({ minLength: 1, maxLength: 10_000 })),
        }),
        { minItems: 1 },
      ),
    }),
  ),
});

const page = Type.String({ pattern: '^https?://\\S+$', maxLength: 1_000 });

/** Who the registrar is, as it tells the world. */
const RegistrarSetup = closedObject({
  name: Type.String({ minLength: 1, maxLength: 255 }),
  /** https://www.iana.org/assignments/registrar-ids */
  iana_id: Type.Optional(Type.Integer({ minimum: 1, maximum: 999_999 })),
  abuse_email: Type.String({ pattern: '^[^\\s@]+@[^\\s@]+$', maxLength: 254 }),
  abuse_phone: Type.Optional(Type.String({ pattern: '^\\+[0-9 .()-]{5,30}$' })),
  url: Type.Optional(page),
});

/** How RDAP is answered. */
const RdapSetup = closedObject({
  terms_url: Type.Optional(page),
  /** Where anybody writes to a registrant whose address is private. */
  registrant_contact: Type.Optional(Type.String({ pattern: '^(https?://|mailto:)\\S+$', maxLength: 1_000 })),
  /** Answers as ICANN's response profile has them. */
  icann_profile: Type.Optional(Type.Boolean()),
});

/** Where the trademark clearinghouse has its notices (RFC 9361). */
const ClaimsNoticesSetup = closedObject({
  url: Type.String({ pattern: '^https?://[^\\s?#@]+$', maxLength: 1_000 }),
  user: Type.String({ minLength: 1, maxLength: 255, pattern: '^[^:\\s]+$' }),
  password: secret,
});

export const Setup = closedObject({
  registrar: Type.Optional(RegistrarSetup),
  /** Answers of RDAP for the names that are with us. */
  rdap: Type.Optional(Type.Union([Type.Boolean(), RdapSetup])),
  /** How long an auth code works. */
  auth_code_days: Type.Optional(Type.Integer({ minimum: 1, maximum: 60 })),
  currencies: Type.Optional(
    Type.Record(Type.String({ pattern: '^[A-Z]{3}$' }), Type.Number({ exclusiveMinimum: 0, maximum: 1_000_000 })),
  ),
  claims_notices: Type.Optional(ClaimsNoticesSetup),
  registries: Type.Optional(Type.Array(RegistrySetup, { minItems: 1 })),
  tlds: Type.Array(TldSetup, { minItems: 1 }),
  reserved: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 253 }))),
});

export type Setup = Static<typeof Setup>;
export type RegistrarSetup = Static<typeof RegistrarSetup>;
export type RegistrySetup = Static<typeof RegistrySetup>;
export type ClaimsNoticesSetup = Static<typeof ClaimsNoticesSetup>;
export type TldSetup = Static<typeof TldSetup>;
export type PricesSetup = Static<typeof PricesSetup>;
