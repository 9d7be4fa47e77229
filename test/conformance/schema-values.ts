/** Values out of JSON Schema, as the OpenAPI document has it: ones that it allows, and ones bent out of shape. */
import { NAUGHTY_STRINGS } from './naughty-strings.ts';

export type Schema = Readonly<Record<string, unknown>> & {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
};

/** Numbers that follow from a seed: the same seed, the same values, on every machine. */
export interface Dice {
  /** 0 ≤ n < below. */
  below(below: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
}

/** Mulberry32. */
export function createDice(seed: number): Dice {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    below: (below) => Math.floor(next() * below),
    chance: (probability) => next() < probability,
    pick: (from) => from[Math.floor(next() * from.length)] as (typeof from)[number],
  };
}

export interface ValueMaker {
  /** A value that the schema allows, as far as patterns can be met. `name`: the member that it is for. */
  valid(schema: Schema, name?: string): unknown;
  /** The value with one to three places in it bent. */
  bend(value: unknown): unknown;
}

/** `hints`: what to take for members of these names, most of the time: ids of objects that exist, models that run. */
export function createValueMaker(
  dice: Dice,
  components: Readonly<Record<string, Schema>>,
  hints: Readonly<Record<string, readonly unknown[]>>,
): ValueMaker {
  const maker: ValueMaker = {
    valid(schema, name) {
      const hint = name === undefined || !Object.hasOwn(hints, name) ? undefined : hints[name];
      if (hint !== undefined && dice.chance(0.9)) return dice.pick(hint);
      if (schema.$ref !== undefined) return maker.valid(components[schema.$ref.split('/').at(-1) ?? ''] ?? {}, name);
      if (schema.anyOf !== undefined) return maker.valid(dice.pick(schema.anyOf), name);
      if ('const' in schema) return schema.const;
      if (schema.enum !== undefined) return dice.pick(schema.enum);
      return ofType(dice.pick([schema.type ?? ANY_TYPE].flat()), schema);
    },
    bend(value) {
      let bent = value;
      for (let times = 1 + dice.below(3); times > 0; times -= 1) bent = bendOnce(dice, bent);
      return bent;
    },
  };

  function ofType(type: string, schema: Schema): unknown {
    switch (type) {
      case 'object':
        return objectOf(schema);
      case 'array':
        return Array.from({ length: dice.below(4) }, () => maker.valid(schema.items ?? {}));
      case 'string':
        return stringOf(dice, schema);
      case 'integer':
      case 'number':
        return numberOf(dice, schema, type === 'integer');
      case 'boolean':
        return dice.chance(0.5);
      default:
        return null;
    }
  }

  function objectOf({ properties, required = [] }: Schema): Record<string, unknown> {
    if (properties === undefined) return freeObject(dice);
    const names = Object.keys(properties).filter((name) => required.includes(name) || dice.chance(0.4));
    return Object.fromEntries(names.map((name) => [name, maker.valid(properties[name] ?? {}, name)]));
  }

  return maker;
}

const ANY_TYPE = ['string', 'integer', 'boolean', 'null', 'object', 'array'];
const PATTERN_CANDIDATES = ['default', 'notify', 'name_1', 'a', 'A', '1', 'thread-1', 'wrkspc_1', 'x'.repeat(64)];

function stringOf(dice: Dice, { pattern, format, minLength = 0, maxLength = 10_000 }: Schema): string {
  if (format === 'date-time') return new Date(dice.below(2 ** 31) * 1_000).toISOString();
  if (pattern !== undefined) {
    const wanted = new RegExp(pattern, 'u');
    return dice.pick(PATTERN_CANDIDATES.filter((text) => wanted.test(text)).concat('a'));
  }
  const text = dice.chance(0.5) ? dice.pick(NAUGHTY_STRINGS) : `text ${dice.below(1_000)}`;
  return text.slice(0, maxLength).padEnd(minLength, 'x');
}

function numberOf(dice: Dice, { minimum = -1_000, maximum = 1_000 }: Schema, whole: boolean): number {
  const value = dice.chance(0.3)
    ? dice.pick([minimum, maximum])
    : minimum + dice.below(1_000) * ((maximum - minimum) / 1_000);
  return whole ? Math.round(value) : value;
}

function freeObject(dice: Dice): Record<string, unknown> {
  return Object.fromEntries(
    Array.from({ length: dice.below(4) }, () => [dice.pick(NAUGHTY_STRINGS).slice(0, 100), dice.pick(STRANGE_VALUES)]),
  );
}

const STRANGE_VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  0.1,
  2 ** 31,
  2 ** 53,
  1e308,
  -1e308,
  '',
  [],
  {},
  [[]],
  [null],
  { a: null },
  { __proto__: null, length: -1 },
  Array(200).fill(0),
  Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`m${index}`, index])),
  nested(60),
];

function nested(levels: number): unknown {
  let value: unknown = 'bottom';
  for (let level = 0; level < levels; level += 1) value = { a: [value] };
  return value;
}

function bendOnce(dice: Dice, value: unknown): unknown {
  if (value === null || typeof value !== 'object' || dice.chance(0.1)) return strangeValue(dice);
  if (Array.isArray(value)) return bendArray(dice, value);
  const members = Object.entries(value);
  const at = dice.below(members.length + 1);
  const [name, member] = members[at] ?? [];
  if (name === undefined || dice.chance(0.15)) return { ...value, [dice.pick(NAUGHTY_STRINGS)]: strangeValue(dice) };
  if (dice.chance(0.25)) return Object.fromEntries(members.filter((_, index) => index !== at));
  return { ...value, [name]: dice.chance(0.4) ? bendOnce(dice, member) : strangeValue(dice) };
}

function bendArray(dice: Dice, items: readonly unknown[]): unknown[] {
  const at = dice.below(items.length + 1);
  switch (dice.below(4)) {
    case 0:
      return [...items, strangeValue(dice)];
    case 1:
      return [...items, ...items, ...items];
    case 2:
      return items.filter((_, index) => index !== at);
    default:
      return items.map((item, index) => (index === at ? bendOnce(dice, item) : item));
  }
}

function strangeValue(dice: Dice): unknown {
  return dice.chance(0.5) ? dice.pick(NAUGHTY_STRINGS) : dice.pick(STRANGE_VALUES);
}
