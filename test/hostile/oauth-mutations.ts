/** Requests of OAuth clients, bent: members dropped, doubled, renamed, of another type, huge, encoded in ways of their own. */
import type { Random } from '../faults/seeded-random.ts';

/** Names and values as they stand on the wire: encoded already. */
export type Pair = readonly [name: string, value: string];

export interface OAuthRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** A valid request with parameters: of its query, or of its form. */
export interface ParameterRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

const FORM = 'application/x-www-form-urlencoded';
/** Beyond what a parameter may have, what a form may, and what a header line may. */
const SIZES = [2_049, 9_000, 70_000] as const;
const GET_SIZES = [2_049, 9_000] as const;

/** Not encoded any more: some of it no encoder would write. */
const ENCODINGS = [
  '%00',
  '%',
  '%zz',
  '%c0%af',
  '%ff%fe',
  '%ed%a0%80',
  '%0d%0aSet-Cookie:%20a=b',
  '%0a',
  '%2525',
  '+++',
  '%f0%9f%94%a8',
  '%e2%80%ae',
  '%22%3E%3Cscript%3Ealert(1)%3C/script%3E',
  "'%20or%20'1'='1",
  '$%7B7*7%7D',
  '__proto__',
  '..%2f..%2fetc%2fpasswd',
  'null',
  'undefined',
  'true',
  '-1',
  '1e999',
  '%5B%5D',
  '%7B%22a%22:1%7D',
] as const;

const JSON_VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e300,
  '',
  ' ',
  '\0',
  '\ud800',
  '\u202egnp.exe',
  '<script>alert(1)</script>',
  [],
  {},
  [[]],
  [null],
  [{}],
  ['a', 5],
  { length: 3, 0: 'a' },
  { $ne: null },
  { toString: 'x' },
  'x'.repeat(70_000),
  Array.from({ length: 5_000 }, () => 'a'),
];

/** Null: none. */
const CONTENT_TYPES = [
  null,
  '',
  'text/plain',
  'application/json',
  'multipart/form-data; boundary=x',
  'multipart/form-data',
  `${FORM}; charset=utf-16`,
  `${FORM}; charset=nonsense`,
  `${FORM};`,
  `${FORM}, ${FORM}`,
  'APPLICATION/X-WWW-FORM-URLENCODED',
  '*/*',
  'x'.repeat(500),
] as const;

type Bend = (pairs: readonly Pair[], at: number, random: Random) => readonly Pair[];

const BENDS: readonly Bend[] = [
  (pairs, at) => pairs.filter((_, index) => index !== at),
  (pairs, at) => replace(pairs, at, ([name]) => [name, '']),
  (pairs, at) => [...pairs, pairs[at] ?? ['', '']],
  (pairs, at) => [...pairs, [pairs[at]?.[0] ?? '', 'other']],
  (pairs, at) => [[pairs[at]?.[0] ?? '', 'other'], ...pairs],
  (pairs, at, random) => replace(pairs, at, ([name]) => [name, random.pick(ENCODINGS)]),
  (pairs, at, random) => replace(pairs, at, ([name, value]) => [name, value + random.pick(ENCODINGS)]),
  (pairs, at, random) => replace(pairs, at, ([name, value]) => [name, random.pick(ENCODINGS) + value]),
  (pairs, at) => replace(pairs, at, ([name, value]) => [name, value.slice(0, value.length / 2)]),
  (pairs, at) => replace(pairs, at, ([name, value]) => [name, swapCase(value)]),
  (pairs, at) => replace(pairs, at, ([name, value]) => [name, encodeURIComponent(value)]),
  (pairs, at) => replace(pairs, at, ([name, value]) => [name, `%20${value}%20`]),
  (pairs, at, random) =>
    replace(pairs, at, ([name, value]) => [name + random.pick(['[]', '[0]', '[a]', '%00', '.x', '%20']), value]),
  (pairs, at) => replace(pairs, at, ([name, value]) => [name.toUpperCase(), value]),
  (pairs) => [...pairs, ['__proto__', 'x'], ['constructor', 'y'], ['surprise', 'z']],
  (pairs, at, random) => {
    const other = pairs[random.integer(0, pairs.length - 1)]?.[1] ?? '';
    return replace(pairs, at, ([name]) => [name, other]);
  },
  (pairs) => [...pairs, ...Array.from({ length: 1_500 }, (_, n): Pair => [`p${n}`, 'x'])],
];

function replace(pairs: readonly Pair[], at: number, change: (pair: Pair) => Pair): readonly Pair[] {
  return pairs.map((pair, index) => (index === at ? change(pair) : pair));
}

function swapCase(text: string): string {
  return text.replaceAll(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
}

/** One to three parameters of it bent; `values` are further ones to put in a parameter's place, by its name. */
export function bendParameters(
  valid: ParameterRequest,
  random: Random,
  values: Readonly<Record<string, readonly string[]>> = {},
): OAuthRequest {
  let pairs: readonly Pair[] = Object.entries(valid.parameters).map(([name, value]) => [
    name,
    encodeURIComponent(value),
  ]);
  for (let bends = random.pick([1, 1, 2, 3]); bends > 0 && pairs.length > 0; bends -= 1) {
    const at = random.integer(0, pairs.length - 1);
    const [name = ''] = pairs[at] ?? [];
    const own = Object.hasOwn(values, name) ? values[name] : undefined;
    const chance = random.next();
    if (own !== undefined && chance < 0.6) {
      const value = encodeURIComponent(random.pick(own).toWellFormed());
      pairs = replace(pairs, at, () => [name, value]);
    } else if (chance > 0.94) {
      const size = random.pick(valid.method === 'GET' ? GET_SIZES : SIZES);
      pairs = replace(pairs, at, () => [name, 'x'.repeat(size)]);
    } else {
      pairs = random.pick(BENDS)(pairs, at, random);
    }
  }
  const text = pairs.map(([name, value]) => `${name}=${value}`).join('&');
  const headers = { ...valid.headers };
  if (valid.method === 'GET') return { method: 'GET', path: `${valid.path}?${text}`, headers };
  return bendTransport(
    { method: 'POST', path: valid.path, headers: { 'content-type': FORM, ...headers }, body: text },
    random,
  );
}

/** A JSON body with one to three members bent. */
export function bendDocument(
  path: string,
  valid: Readonly<Record<string, unknown>>,
  random: Random,
  values: Readonly<Record<string, readonly unknown[]>>,
): OAuthRequest {
  const document: Record<string, unknown> = { ...valid };
  for (let bends = random.pick([1, 1, 2, 3]); bends > 0; bends -= 1) {
    const name = random.pick(Object.keys(valid));
    const chance = random.next();
    const own = values[name];
    if (chance < 0.1) delete document[name];
    else if (own !== undefined && chance < 0.7) document[name] = random.pick(own);
    else if (chance < 0.75) document[`${name}s`] = document[name];
    else document[name] = random.pick(JSON_VALUES);
  }
  let text = JSON.stringify(document);
  const name = random.pick(Object.keys(valid));
  // Twice in one object: what parsers make of it differs.
  if (random.next() < 0.08) text = `{"${name}":"other",${text.slice(1)}`;
  if (random.next() < 0.05) text = text.slice(0, text.length / 2);
  if (random.next() < 0.05) text = `{"__proto__":{"a":1},${text.slice(1)}`;
  if (random.next() < 0.04) text = random.pick(['', 'null', '[]', '"x"', '5', '{', `${'['.repeat(5_000)}`]);
  return bendTransport({ method: 'POST', path, headers: { 'content-type': 'application/json' }, body: text }, random);
}

/** Seldom: what goes around a request. */
function bendTransport(request: OAuthRequest, random: Random): OAuthRequest {
  const chance = random.next();
  const { 'content-type': _type, ...headers } = request.headers;
  if (chance < 0.08) {
    const type = random.pick(CONTENT_TYPES);
    return { ...request, headers: type === null ? headers : { ...headers, 'content-type': type } };
  }
  if (chance < 0.1) return { ...request, headers: { ...request.headers, 'content-encoding': 'gzip' } };
  if (chance < 0.12) return { ...request, body: Buffer.from(String(request.body), 'utf16le') };
  if (chance < 0.13) return { ...request, method: random.pick(['PUT', 'PATCH', 'DELETE', 'GET']) };
  return request;
}
