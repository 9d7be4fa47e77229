/** Pieces of requests that are wrong somewhere, for the fuzz tests of both services. */
import { NAUGHTY_STRINGS } from './naughty-strings.ts';
import type { Dice, Schema, ValueMaker } from './schema-values.ts';

export interface QueryParameter {
  readonly name: string;
  readonly schema: Schema;
}

/** A body that the schema allows, one that is bent out of shape, or no JSON at all. `usual`: one that is known to be right. */
export function makeJsonBody(
  dice: Dice,
  schema: Schema | undefined,
  maker: ValueMaker,
  usual: () => unknown,
): Buffer | undefined {
  if (schema === undefined) return dice.chance(0.05) ? garbage(dice, '{}') : undefined;
  const valid = dice.chance(0.35) ? usual() : maker.valid(schema);
  const kind = dice.below(100);
  if (kind < 45) return Buffer.from(JSON.stringify(valid));
  if (kind < 85) return Buffer.from(JSON.stringify(maker.bend(valid)) ?? '');
  return kind < 97 ? garbage(dice, JSON.stringify(valid)) : undefined;
}

/** Some of the parameters that an operation takes, and now and then what it does not. */
export function makeQuery(dice: Dice, query: readonly QueryParameter[], maker: ValueMaker): string {
  const pairs = query
    .filter(() => dice.chance(0.4))
    .map(({ name, schema }) => {
      const value = dice.chance(0.6) ? asText(maker.valid(schema, name)) : dice.pick(NAUGHTY_STRINGS);
      return `${name}=${encodeURIComponent(value.slice(0, 1_000).toWellFormed())}`;
    });
  if (dice.chance(0.1)) pairs.push(encodeURIComponent(dice.pick(NAUGHTY_STRINGS).slice(0, 1_000).toWellFormed()));
  if (dice.chance(0.03)) pairs.push('%ff=%', '&&==', ...pairs);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

/** A value of a field or of a query: what is no text is JSON. */
export function asText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Something near the text that is not what it was. */
export function garbage(dice: Dice, text: string): Buffer {
  const bytes = Buffer.from(text);
  const at = dice.below(bytes.length + 1);
  switch (dice.below(6)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from([dice.below(256)]), bytes.subarray(at)]);
    case 2:
      return Buffer.from(dice.pick(NAUGHTY_STRINGS));
    case 3:
      return Buffer.from(JSON.stringify(dice.pick(NAUGHTY_STRINGS)));
    case 4:
      return Buffer.from(text.replace(/"(\w+)":/, `"$1": ${JSON.stringify(dice.pick(NAUGHTY_STRINGS))}, "$1":`));
    default:
      return Buffer.from('['.repeat(dice.below(3_000)));
  }
}

export function manglePath(dice: Dice, path: string): string {
  const at = 1 + dice.below(path.length);
  const piece = encodeURI(dice.pick(NAUGHTY_STRINGS).slice(0, 200).toWellFormed());
  return dice.pick([
    path,
    `${path}/`,
    path.toUpperCase(),
    path.slice(0, at),
    path.slice(0, at) + piece + path.slice(at),
  ]);
}

/** Text as HTTP can carry it in a header or a request line: its UTF-8 bytes without the controls that HTTP refuses. */
export function asHeaderText(text: string): string {
  return Buffer.from(text, 'utf8')
    .toString('latin1')
    .replaceAll(/[^\x20-\x7e\x80-\xff]/g, '');
}
