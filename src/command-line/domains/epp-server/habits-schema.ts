/** The file of a registry's habits (`domains epp-server --habits`), as an operator writes it. docs/registrar.md explains it. */
import Type, { type Static } from 'typebox';
import { closedObject, FEE_VERSIONS, TRADES } from '../../../domains/boot/setup/setup-schema.ts';
import { REFUSALS, RULED_COMMANDS } from '../../../domains/registry/epp/index.ts';
import { LAUNCH_PHASES, MARK_KINDS } from '../../../domains/registry/registry.ts';
import { oneOf } from '../../../kernel/http/schema.ts';

const zone = '[a-z0-9-]+(\\.[a-z0-9-]+)*';
const tld = Type.String({ pattern: `^${zone}$`, maxLength: 253 });
const name = Type.String({ pattern: `^[a-z0-9-]+\\.${zone}$`, maxLength: 253 });
const euros = Type.Number({ minimum: 0, maximum: 10_000_000 });
const registrar = Type.String({ pattern: '^[^:\\s]{3,16}$' });
const seconds = Type.Integer({ minimum: 0, maximum: 31_536_000 });
const count = Type.Integer({ minimum: 1, maximum: 999_999 });

function mapOf<Value extends typeof euros | ReturnType<typeof Type.String> | typeof names>(key: string, value: Value) {
  return Type.Record(Type.String({ pattern: key }), value, { additionalProperties: false });
}

const names = Type.Array(name, { uniqueItems: true });

/** What it sells, to whom at which price. */
const Sells = closedObject({
  tlds: Type.Optional(Type.Array(tld, { minItems: 1 })),
  premium: Type.Optional(mapOf(`^[a-z0-9-]+\\.${zone}$`, euros)),
  reserved: Type.Optional(names),
  registered: Type.Optional(mapOf('^[^:\\s]{3,16}$', names)),
});

/** How names come, are renewed, move and come back. */
const Terms = closedObject({
  auto_renew_grace_days: Type.Optional(Type.Integer({ minimum: 1, maximum: 99 })),
  restore_reports: Type.Optional(Type.Boolean()),
  create_seconds: Type.Optional(seconds),
  renew_seconds: Type.Optional(seconds),
  transfer_seconds: Type.Optional(seconds),
  trade_seconds: Type.Optional(seconds),
});

/** A phase of launches other than a sunrise. */
const Launch = closedObject({
  zones: Type.Array(Type.String({ pattern: `^${zone}$` }), { minItems: 1 }),
  phase: oneOf(LAUNCH_PHASES),
  name: Type.Optional(Type.String({ pattern: '^\\S{1,64}$' })),
  applications: Type.Optional(Type.Boolean()),
  application_fee: Type.Optional(euros),
  refunds_lost: Type.Optional(Type.Boolean()),
  marks: Type.Optional(oneOf(MARK_KINDS)),
  validator: Type.Optional(Type.String({ pattern: '^[!-~]{1,255}$' })),
  codes: Type.Optional(mapOf(`^[a-z0-9-]+\\.${zone}$`, Type.String({ pattern: '^[!-~]{1,255}$' }))),
});

/** Which of EPP's models and extensions it has. */
const Protocol = closedObject({
  contacts: Type.Optional(oneOf(['objects', 'no_disclose', 'none'])),
  hosts: Type.Optional(oneOf(['objects', 'attributes'])),
  dnssec: Type.Optional(oneOf(['ds', 'keys', 'none'])),
  fee_versions: Type.Optional(Type.Array(oneOf(FEE_VERSIONS), { uniqueItems: true })),
  balance: Type.Optional(Type.Boolean()),
  name_store: Type.Optional(mapOf(`^${zone}$`, Type.String({ pattern: '^[A-Za-z0-9_.-]{1,64}$' }))),
  idn: Type.Optional(
    closedObject({
      extension: oneOf(['idn', 'idnLang']),
      tables: Type.Array(Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }), { minItems: 1 }),
    }),
  ),
  trade: Type.Optional(oneOf(TRADES)),
  claims: Type.Optional(mapOf(`^[a-z0-9-]+\\.${zone}$`, Type.String({ minLength: 1, maxLength: 255 }))),
  sunrise: Type.Optional(
    closedObject({
      zones: Type.Array(Type.String({ pattern: `^${zone}$` }), { minItems: 1 }),
      applications: Type.Optional(Type.Boolean()),
    }),
  ),
  launches: Type.Optional(Type.Array(Launch, { minItems: 1 })),
});

/** How much it lets a registrar do. */
const Limits = closedObject({
  credit: Type.Optional(mapOf('^[^:\\s]{3,16}$', euros)),
  commands_per_minute: Type.Optional(count),
  session_commands: Type.Optional(count),
  sessions: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
  idle_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400 })),
});

const Messages = closedObject({
  newest_first: Type.Optional(Type.Boolean()),
  twice: Type.Optional(Type.Boolean()),
  unknown: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 255 }))),
});

const ANSWERS = ['silent', 'cut', 'late', 'undated', 'garbled', ...REFUSALS] as const;

/** What becomes of commands: the first that fits decides. */
const Answer = closedObject({
  answer: Type.Unsafe<(typeof ANSWERS)[number]>({ enum: [...ANSWERS] }),
  late_ms: Type.Optional(Type.Integer({ minimum: 1, maximum: 999_999 })),
  commands: Type.Optional(Type.Array(oneOf(RULED_COMMANDS), { minItems: 1, uniqueItems: true })),
  names: Type.Optional(Type.Array(Type.String({ pattern: '^[a-z0-9.*-]{1,253}$' }), { minItems: 1 })),
  share: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 1 })),
});

/** What happens to names without a command of the registrar that has them. */
const OutOfBand = closedObject({
  event: oneOf(['registered', 'moved']),
  name,
  registrar: Type.Optional(registrar),
  after_seconds: Type.Optional(seconds),
});

export const Habits = closedObject({
  sells: Type.Optional(Sells),
  terms: Type.Optional(Terms),
  protocol: Type.Optional(Protocol),
  limits: Type.Optional(Limits),
  messages: Type.Optional(Messages),
  answers: Type.Optional(Type.Array(Answer)),
  out_of_band: Type.Optional(Type.Array(OutOfBand)),
  seed: Type.Optional(Type.Integer({ minimum: 0, maximum: 999_999_999 })),
});

export type Habits = Static<typeof Habits>;
