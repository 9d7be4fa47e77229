/** Requests for the fuzz test, each a function of the seed and its number. */
import { SCOPES } from '../../src/platform/access/scopes.ts';
import { skillText } from '../support/skills.ts';
import {
  asHeaderText,
  asText,
  garbage,
  makeJsonBody,
  makeQuery,
  manglePath,
  type QueryParameter,
} from './mangled-requests.ts';
import { NAUGHTY_STRINGS } from './naughty-strings.ts';
import { createDice, createValueMaker, type Dice, type Schema, type ValueMaker } from './schema-values.ts';
import { bodyFor, fillPath, missingId, type PathSlot, slotsOf, uniqueName, type World } from './world.ts';

export interface DescribedOperation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly posture: string;
  readonly query: readonly QueryParameter[];
  readonly body: Schema | undefined;
  /** Of an upload: a form, with the file among its properties. */
  readonly form: Schema | undefined;
}

export interface FuzzRequest {
  readonly operation: DescribedOperation;
  /** Whether method and path are the operation's own, so that its description covers the answer. */
  readonly isOwnRoute: boolean;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

export interface FuzzWorld extends World {
  readonly smith: string;
}

type Components = Readonly<Record<string, Schema>>;

/** The request of this number: the same for the same seed, but for the ids and names of objects. `deletes`: nothing else needs them. */
export function makeRequest(
  number: number,
  seed: number,
  operations: readonly DescribedOperation[],
  components: Components,
  world: FuzzWorld,
  { deletes }: { readonly deletes: boolean },
): FuzzRequest {
  const dice = createDice(seed * 1_000_003 + number);
  // By turns, so that every operation gets its share.
  const operation = operations[number % operations.length] as DescribedOperation;
  const maker = createValueMaker(dice, components, hintsFor(world));
  const round = Math.floor(number / operations.length);
  if (round % PLAIN_EVERY === 0 && (deletes || operation.method !== 'DELETE'))
    return makePlainRequest(operation, dice, maker, world);
  const isOwnRoute = dice.chance(0.92);
  const path = makePath(dice, operation, world) + makeQuery(dice, operation.query, maker);
  const body = makeBody(dice, operation, maker, world);
  return {
    operation,
    isOwnRoute,
    method: isOwnRoute ? operation.method : dice.pick(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']),
    path: isOwnRoute ? path : manglePath(dice, path),
    headers: makeHeaders(dice, operation, world, body),
    body,
  };
}

/** One request of so many is as it should be, so that each operation is known to get past its validation. */
const PLAIN_EVERY = 8;

/** Queries without which an operation does nothing. */
const EXACT_QUERIES: Readonly<Record<string, (world: World) => string>> = {
  'tenant.email.suppressions.delete': ({ suppressedAddress }) => `?address=${encodeURIComponent(suppressedAddress)}`,
};

/** Bodies that no schema describes well enough. */
const EXACT_BODIES: Readonly<Record<string, (world: World) => Buffer>> = {
  'skills.create': () => makeBundle(skillText(uniqueName().toLowerCase().replace(' ', '-'))),
  'skills.versions.create': ({ skillName }) => makeBundle(skillText(skillName)),
  'agents.ui.upload': () => makeUiForm(uniqueName().replace(' ', '-')),
  'deployments.mcp': () => Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}'),
  'traces.otlp.push': () => Buffer.from('{"resourceSpans":[]}'),
};

function makeBundle(text: string): Buffer {
  const named = 'Content-Disposition: form-data; name="files[]"; filename="SKILL.md"';
  return Buffer.from(`--${BOUNDARY}\r\n${named}\r\n\r\n${text}\r\n--${BOUNDARY}--\r\n`);
}

function makeUiForm(name: string): Buffer {
  const field = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="name"\r\n\r\n${name}\r\n`;
  const file = 'Content-Disposition: form-data; name="file"; filename="page.html"';
  return Buffer.from(`${field}--${BOUNDARY}\r\n${file}\r\n\r\n<p>Hello</p>\r\n--${BOUNDARY}--\r\n`);
}

function makePlainBody(
  operation: DescribedOperation,
  dice: Dice,
  maker: ValueMaker,
  world: FuzzWorld,
): Buffer | undefined {
  const exact = EXACT_BODIES[operation.id];
  if (exact !== undefined) return exact(world);
  if (operation.form !== undefined) return makeForm(dice, operation.form, maker);
  return operation.body === undefined ? undefined : Buffer.from(JSON.stringify(bodyFor(operation, world) ?? {}));
}

function makePlainRequest(operation: DescribedOperation, dice: Dice, maker: ValueMaker, world: FuzzWorld): FuzzRequest {
  const body = makePlainBody(operation, dice, maker, world);
  const token = operation.posture === 'org' ? world.organization.token : world.tenant.token;
  const path = fillPath(
    operation.path,
    slotsOf(operation.path).map((slot) => realValue(dice, operation, slot, world)),
  );
  return {
    operation,
    isOwnRoute: true,
    method: operation.method,
    path: path + (EXACT_QUERIES[operation.id]?.(world) ?? ''),
    headers: {
      authorization: `Bearer ${token}`,
      'ic-smith-id': world.smithId,
      ...(operation.id === 'deployments.mcp' && { accept: 'application/json, text/event-stream' }),
      ...(body === undefined ? {} : { 'content-type': usualType(operation) }),
    },
    body,
  };
}

/** What members of these names are worth: objects that exist, models that run. No address leads off this machine. */
function hintsFor(world: World): Record<string, readonly unknown[]> {
  const smiths = [world.smithId, world.otherSmithId, missingId('smt')];
  const say = (content: unknown) => [{ role: 'user', content }];
  return {
    smith_id: smiths,
    from_smith: smiths,
    smith_ids: [[world.smithId], smiths, [], [world.otherSmithId, world.otherSmithId]],
    agent_id: [world.agentId, null, missingId('agt')],
    customer_id: [world.customerId, null, missingId('cus')],
    model: ['builtin/demo', 'builtin/demo', 'builtin/none', 'nope/x', '', '/', 'a/b/c', 'demo'],
    base_url: ['http://127.0.0.1:1/v1', 'https://10.0.0.1', 'http://[::1]/', 'ftp://127.0.0.1', 'not a url', '', null],
    permissions: [['runs:read'], SCOPES, [], ['nonsense'], null],
    input: [
      say('Write 3 words'),
      say('Call the tool notify with {"to": "Ada"}'),
      say('Think about nothing'),
      say('Refuse to answer'),
      say([{ type: 'text', text: 'Hello' }]),
      [...say('One'), { role: 'assistant', content: 'Two' }, ...say('Three')],
      [],
      ...NAUGHTY_STRINGS.filter((text) => text.length < 300).map(say),
    ],
    tools: [[], [{ name: 'notify' }], [{ name: 'notify', requires_approval: true }], [{ name: 'a' }, { name: 'a' }]],
    version: [1, 1, 1, 2, 2_147_483_647],
    tool_call_id: ['call_0', '', 'call_1'],
    approval_id: [world.approvalId, missingId('apr'), ''],
  };
}

function makePath(dice: Dice, operation: DescribedOperation, world: World): string {
  const slots = slotsOf(operation.path);
  const values = slots.map((slot) => {
    // An object that is deleted is not there for the requests that follow.
    const isDeleted = operation.method === 'DELETE' && slot === slots.at(-1);
    const realShare =
      isDeleted && slot.prefix !== undefined && slot.name !== 'sid' ? 0.15 : slots.length > 1 ? 0.8 : 0.65;
    if (dice.chance(realShare)) return realValue(dice, operation, slot, world);
    if (slot.prefix !== undefined && dice.chance(0.5)) return missingId(slot.prefix);
    // A URL of 16 KiB or with bytes beyond ASCII is no HTTP: see protocol.test.ts.
    const text = dice.pick(NAUGHTY_STRINGS).slice(0, 1_000);
    return dice.chance(0.8) ? encodeURIComponent(text.toWellFormed()) : text.replaceAll(/[^!-~]|[?#]/g, '');
  });
  return fillPath(operation.path, values);
}

function realValue(dice: Dice, operation: DescribedOperation, slot: PathSlot, world: World): string {
  if (operation.id === 'smiths.delete') return world.otherSmithId;
  if (operation.id === 'deployments.mcp') return world.mcpDeploymentId;
  return slot.name === 'rid' && dice.chance(0.5) ? world.pausedRunId : slot.valueIn(world);
}

function makeBody(dice: Dice, operation: DescribedOperation, maker: ValueMaker, world: World): Buffer | undefined {
  if (operation.form !== undefined) return makeForm(dice, operation.form, maker);
  return makeJsonBody(dice, operation.body, maker, () => bodyFor(operation, world));
}

const BOUNDARY = 'fuzz';

/** A form, now and then one that is broken somewhere. */
function makeForm(dice: Dice, form: Schema, maker: ValueMaker): Buffer {
  const parts = Object.entries(form.properties ?? {}).flatMap(([name, schema]) => {
    const isFile = schema.format === 'binary';
    if (!dice.chance(isFile ? 0.95 : 0.6)) return [];
    const text = dice.chance(0.7) && !isFile ? asText(maker.valid(schema, name)) : dice.pick(NAUGHTY_STRINGS);
    const filename = asHeaderText(dice.chance(0.5) ? 'a.txt' : dice.pick(NAUGHTY_STRINGS).slice(0, 500));
    const named = `Content-Disposition: form-data; name="${name}"${isFile ? `; filename="${filename}"` : ''}`;
    return [`--${BOUNDARY}\r\n${named}\r\n\r\n${text}\r\n`];
  });
  const text = `${dice.chance(0.5) ? parts.reverse().join('') : parts.join('')}--${BOUNDARY}--\r\n`;
  return dice.chance(0.8) ? Buffer.from(text) : garbage(dice, text);
}

function makeHeaders(
  dice: Dice,
  operation: DescribedOperation,
  world: FuzzWorld,
  body: Buffer | undefined,
): Record<string, string> {
  const headers: Record<string, string> = {};
  const naughty = () => asHeaderText(dice.pick(NAUGHTY_STRINGS).slice(0, 1_000));
  const usual = operation.posture === 'org' ? world.organization.token : world.tenant.token;
  const token = dice.chance(0.85)
    ? usual
    : dice.pick([world.smith, world.tenant.token, world.organization.token, naughty()]);
  if (dice.chance(0.97)) headers.authorization = dice.chance(0.98) ? `Bearer ${token}` : naughty();
  if (body !== undefined) {
    headers['content-type'] = dice.chance(0.95)
      ? usualType(operation)
      : dice.pick(['text/plain', 'application/x+json', naughty()]);
  }
  const sometimes = (name: string, ...values: readonly string[]) => {
    if (dice.chance(0.08)) headers[name] = dice.chance(0.7) ? dice.pick(values) : naughty();
  };
  sometimes('idempotency-key', 'key-1', 'key-2', `key-${dice.below(1_000)}`);
  sometimes('ic-api-version', '2026-05-01', '2026-05-01', '2020-01-01');
  sometimes('x-request-id', 'fuzz', 'a'.repeat(128));
  sometimes('prefer', 'respond-async', 'wait=0', 'wait=1', 'return=minimal');
  sometimes('last-event-id', '0', '1', '3', '999999999999999', '-1');
  sometimes('accept', 'text/event-stream', 'application/json', 'image/png', '*/*;q=0.1');
  sometimes('content-encoding', 'identity', 'gzip');
  sometimes('ic-smith-id', world.smithId);
  sometimes('range', 'bytes=0-4', 'bytes=-3', 'bytes=5-', 'bytes=99999999-');
  sometimes('if-none-match', '*', '"a"');
  sometimes('x-http-method-override', 'DELETE');
  return headers;
}

function usualType({ form }: DescribedOperation): string {
  return form === undefined ? 'application/json' : `multipart/form-data; boundary=${BOUNDARY}`;
}
