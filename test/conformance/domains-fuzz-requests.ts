/** Requests for the fuzz test of the domain service, each a function of the seed, its number and the world that it is sent to. */
import { NAMESERVERS, type TestWorkspace } from '../support/domains.ts';
import { asHeaderText, makeJsonBody, makeQuery, manglePath, type QueryParameter } from './mangled-requests.ts';
import { NAUGHTY_STRINGS } from './naughty-strings.ts';
import { createDice, createValueMaker, type Dice, type Schema } from './schema-values.ts';

export interface FuzzedOperation {
  readonly id: string;
  readonly method: string;
  /** With the base path. */
  readonly path: string;
  readonly isPublic: boolean;
  readonly query: readonly QueryParameter[];
  readonly body: Schema | undefined;
  readonly example: unknown;
}

/** A workspace that has something of everything. */
export interface DomainsWorld {
  readonly workspace: TestWorkspace;
  /** Hosted here. */
  readonly name: string;
  /** By the parameters of paths: objects that exist. */
  readonly ids: Readonly<Record<string, string>>;
  /** Mailed, and not used yet. */
  readonly signInCode: () => string;
}

export interface DomainsFuzzRequest {
  readonly operation: FuzzedOperation;
  /** Whether method and path are the operation's own, so that its description covers the answer. */
  readonly isOwnRoute: boolean;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

/** One request of so many is as it should be, so that each operation is known to get past its validation. */
const PLAIN_EVERY = 8;
const COM_PRICE = 11.9;
/** A trademark claims it. */
export const CLAIMED_NAME = 'claimed-name.com';

export function makeDomainsRequest(
  number: number,
  seed: number,
  operations: readonly FuzzedOperation[],
  components: Readonly<Record<string, Schema>>,
  world: DomainsWorld,
): DomainsFuzzRequest {
  const dice = createDice(seed * 1_000_003 + number);
  const operation = operations[number % operations.length] as FuzzedOperation;
  const isPlain = Math.floor(number / operations.length) % PLAIN_EVERY === 0;
  const usualBody = () => EXACT_BODIES[operation.id]?.(world, number) ?? operation.example ?? {};
  if (isPlain) {
    const body = operation.body === undefined ? undefined : Buffer.from(JSON.stringify(usualBody()));
    const path =
      fill(operation, (name) => realId(operation, name, world, number)) + (EXACT_QUERIES[operation.id] ?? '');
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    return {
      operation,
      isOwnRoute: true,
      method: operation.method,
      path,
      body,
      headers: { ...bearer(world), ...type },
    };
  }
  const maker = createValueMaker(dice, components, hintsFor(world, number));
  const isOwnRoute = dice.chance(0.92);
  const path =
    fill(operation, (name) => someId(dice, operation, name, world, number)) + makeQuery(dice, operation.query, maker);
  const body = makeJsonBody(dice, operation.body, maker, usualBody);
  return {
    operation,
    isOwnRoute,
    method: isOwnRoute ? operation.method : dice.pick(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']),
    path: isOwnRoute ? path : manglePath(dice, path),
    headers: makeHeaders(dice, world, body),
    body,
  };
}

const EXACT_BODIES: Readonly<Record<string, (world: DomainsWorld, number: number) => unknown>> = {
  'accounts.create': (_, number) => ({ email: `fuzz-${process.pid}-${number}@example.com` }),
  'domains.register': (_, number) => ({ domain: `fuzz-${process.pid}-${number}.com`, confirm_price: COM_PRICE }),
  'domains.renew': () => ({ confirm_price: COM_PRICE }),
  'domains.transfer': () => ({ auth_code: 'simulated-auth', confirm_price: COM_PRICE }),
  'webhooks.create': () => ({ url: 'http://127.0.0.1:1/hook', events: ['auto_top_up'] }),
  'top_ups.create': () => ({ amount: 5 }),
  'sign_ins.complete': ({ signInCode }) => ({ code: signInCode() }),
  'zones.create_record': (_, number) => ({ subdomain: `h${number}`, type: 'A', value: '192.0.2.7' }),
  'zones.delete_record': () => ({ subdomain: 'www', type: 'A', value: '192.0.2.7' }),
  'zone_records.change': (_, number) => ({
    changes: [{ action: 'create', subdomain: `c${number}`, type: 'TXT', value: 'v=spf1 -all' }],
  }),
};

const EXACT_QUERIES: Readonly<Record<string, string>> = {
  'availability.check': '?q=free-name.com',
  'suggestions.list': '?q=coffee',
  'domains.delete': '?when=at_expiry',
};

/** What members of these names are worth: names and objects that exist, prices that are right. */
function hintsFor({ name, ids, signInCode }: DomainsWorld, number: number): Record<string, readonly unknown[]> {
  return {
    domain: [
      name,
      `fuzz-${process.pid}-${number}.com`,
      'taken-name.com',
      'bücher.de',
      'xn--bcher-kva.com',
      '.',
      'a.b.c.d',
    ],
    q: [name, 'coffee', 'free-name.com', 'bücher.de', 'xn--', 'пример.рф', '.com', 'a'.repeat(64)],
    name: [name],
    confirm_price: [COM_PRICE, COM_PRICE, '11.90', 0, -1, 1e308, '11,90', 'NaN'],
    amount: [5, '5.00', 0, 1e9, '-5', 1.001],
    payment_method: ['pm_card_visa', 'pm_card_chargeDeclined', 'pm_nope', ''],
    shared_payment_token: ['spt_card_visa', 'spt_nope'],
    auth_code: ['simulated-auth', 'wrong'],
    email: ['ada@example.com', 'ADA@example.com', 'a@b', '@', 'ada@exämple.com', `${'a'.repeat(70)}@example.com`],
    code: [signInCode(), 'A'.repeat(43)],
    after: [...Object.values(ids), 'nope'],
    type: ['A', 'AAAA', 'MX', 'TXT', 'CNAME', 'SRV', 'CAA', 'NS', 'HTTPS', 'SOA', 'a', 'TYPE65'],
    value: [
      '192.0.2.7',
      '2001:db8::1',
      '10 mail.example.net',
      'v=spf1 -all',
      '0 issue "ca.example"',
      '1 . alpn=h2',
      '\\000',
    ],
    url: ['http://127.0.0.1:1/hook', 'https://10.0.0.1/', 'ftp://x', 'https://[::1]/', 'https://user:pw@127.0.0.1/'],
    events: [['order'], [], ['domain.renewed', 'nope'], ['.']],
    threshold: [20, '20.00', -1, 1e9],
    monthly_limit: [500, 1, '1e5'],
    subdomain: ['www', '@', '', '*', '_dmarc', 'a.b.c', 'WWW', 'ä', '*.a', 'x'.repeat(64)],
    zone_file: [
      '$TTL 300\nshop A 192.0.2.8\n',
      '; none',
      '@ IN SOA',
      '$INCLUDE /etc/passwd',
      '$GENERATE 1-100000000 a A 1.2.3.4',
      '(',
    ],
    nameservers: [['ns1.example.net', 'ns2.example.net'], [], ['127.0.0.1'], [`ns1.${name}`, `ns2.${name}`]],
    ds_records: [[], [{ key_tag: 1, algorithm: 13, digest_type: 2, digest: 'ab'.repeat(32) }]],
  };
}

function fill({ path }: FuzzedOperation, idOf: (name: string) => string): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => idOf(name));
}

function realId(operation: FuzzedOperation, name: string, { ids }: DomainsWorld, number: number): string {
  if (operation.id === 'domains.transfer') return `taken-${process.pid}-${number}.com`;
  if (operation.id === 'domains.delete') return ids.spare_name ?? '';
  if (operation.id === 'rdap.nameserver') return NAMESERVERS[0];
  if (operation.id === 'claims_notices.get') return CLAIMED_NAME;
  return ids[name] ?? '';
}

function someId(dice: Dice, operation: FuzzedOperation, name: string, world: DomainsWorld, number: number): string {
  // What is deleted is not there for the requests that follow.
  if (dice.chance(operation.method === 'DELETE' && name !== 'name' ? 0.1 : 0.7))
    return realId(operation, name, world, number);
  const text = dice.pick(NAUGHTY_STRINGS).slice(0, 1_000);
  return dice.chance(0.8) ? encodeURIComponent(text.toWellFormed()) : text.replaceAll(/[^!-~]|[?#]/g, '');
}

const bearer = ({ workspace }: DomainsWorld) => ({ authorization: `Bearer ${workspace.token}` });

function makeHeaders(dice: Dice, world: DomainsWorld, body: Buffer | undefined): Record<string, string> {
  const naughty = () => asHeaderText(dice.pick(NAUGHTY_STRINGS).slice(0, 1_000));
  const headers: Record<string, string> = {};
  if (dice.chance(0.97)) {
    headers.authorization = dice.chance(0.9)
      ? bearer(world).authorization
      : `Bearer ${dice.pick([world.workspace.reader.token, naughty()])}`;
  }
  if (body !== undefined)
    headers['content-type'] = dice.chance(0.95) ? 'application/json' : dice.pick(['text/plain', naughty()]);
  const sometimes = (name: string, ...values: readonly string[]) => {
    if (dice.chance(0.08)) headers[name] = dice.chance(0.7) ? dice.pick(values) : naughty();
  };
  sometimes('idempotency-key', 'key-1', 'key-2', `key-${dice.below(1_000)}`);
  sometimes('x-request-id', 'fuzz', 'a'.repeat(128));
  sometimes('accept', 'text/html', 'application/json', '*/*;q=0.1');
  sometimes('content-encoding', 'identity', 'gzip');
  sometimes('range', 'bytes=0-4', 'bytes=-3', 'bytes=99999999-');
  sometimes('if-none-match', '*', '"a"');
  return headers;
}
