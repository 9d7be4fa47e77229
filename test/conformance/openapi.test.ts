/** The document at /openapi.json, as generators of clients and readers of /docs use it. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { platformErrors } from '../../src/platform/errors.ts';
import { startPlatform } from '../support/platform.ts';
import { sendRaw } from './raw-http.ts';

interface Described {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary?: string;
  readonly security?: readonly unknown[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required?: boolean }[];
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: Readonly<Record<string, { readonly schema: Record<string, unknown> }>>;
  };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Readonly<Record<string, { schema: unknown }>> }>
  >;
}

interface OpenApiDocument {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Record<string, unknown>>> };
}

const platform = await startPlatform();
after(() => platform.close());
const { operations } = platform.platform;
type Operation = (typeof operations)[number];

const source = await fetch(`${platform.url}/openapi.json`).then((response) => response.text());
const document = JSON.parse(source) as OpenApiDocument;
const described = new Map(
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => [one.operationId, { path, method, ...one }] as const),
  ),
);
const catalogue: Readonly<Record<string, { readonly status: number }>> = platformErrors;

test('it is OpenAPI 3.1, version 1', () => {
  assert.match(document.openapi, /^3\.1\.\d+$/);
  assert.equal(document.info.version, '1');
});

test('Redocly’s recommended rules find neither an error nor a warning', async () => {
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });
  assert.deepEqual(
    problems.map(
      ({ severity, ruleId, message, location }) => `${severity} ${ruleId}: ${message} ${location[0]?.pointer}`,
    ),
    // A WebSocket succeeds with 101 alone.
    operations
      .filter(({ kind }) => kind === 'socket')
      .map(({ path }) => `#/paths/${path.replaceAll('/', '~1')}/get/responses`)
      .map((pointer) => `warn operation-2xx-response: Operation must have at least one \`2XX\` response. ${pointer}`),
  );
});

test('it describes the operations that are served, and no others', () => {
  assert.deepEqual([...described.keys()].sort(), operations.map(({ id }) => id).sort());
});

describe('each operation is described as it is served', () => {
  for (const operation of operations) test(operation.id, () => checkDescription(operation, find(operation.id)));
});

describe('each operation names the codes that it may be refused with, by status', () => {
  for (const operation of operations) {
    test(operation.id, () => {
      const named = codesOf(find(operation.id), operation.errorDialect);
      for (const [status, codes] of named) {
        // A range behind the end is HTTP's own refusal, and some are a protocol's: their status is not the code's.
        if (status === 416 && operation.answers === 'bytes') continue;
        const isProtocols = status === operation.errorDialect?.unreadableStatus;
        for (const code of codes.filter((one) => !isProtocols || one !== 'invalid_request'))
          assert.equal(catalogue[code]?.status, status, `${code} under ${status}`);
      }
      const all = new Set([...named.values()].flat());
      for (const code of codesThatFollow(operation)) assert.ok(all.has(code), `${code} is not named`);
    });
  }
});

test('components have names of their own, and every reference leads to one', () => {
  const names = Object.keys(document.components.schemas);
  for (const name of names) assert.match(name, /^[A-Z][A-Za-z0-9]+$/, `no name for a type: ${name}`);
  const references = findReferences(document);
  assert.ok(references.size > 0);
  for (const reference of references) {
    const name = /^#\/components\/schemas\/(\w+)$/.exec(reference)?.[1];
    assert.ok(name !== undefined && names.includes(name), `${reference} leads nowhere`);
  }
});

test('objects of the contract are named components wherever a body or a reply is one', () => {
  for (const [id, { requestBody, responses }] of described) {
    const body = requestBody?.content['application/json']?.schema;
    if (body !== undefined) assert.ok(findReferences(body).size > 0, `the body of ${id} has no name`);
    for (const [status, { content }] of Object.entries(responses)) {
      const schema = (content?.['application/json'] ?? content?.['text/event-stream'])?.schema;
      if (schema !== undefined) assert.ok(findReferences(schema).size > 0, `the ${status} of ${id} has no name`);
    }
  }
});

test('nested objects of replies say which of their members are always there', () => {
  const found: string[] = [];
  const seen = new Set<string>();
  const visit = (schema: unknown, where: string): void => {
    if (schema === null || typeof schema !== 'object') return;
    const { $ref, properties, required } = schema as { $ref?: string; properties?: object; required?: string[] };
    const name = $ref?.split('/').at(-1);
    if (name !== undefined && !seen.has(name)) {
      seen.add(name);
      visit(document.components.schemas[name], name);
    }
    if (properties !== undefined && required === undefined) found.push(where);
    for (const [member, value] of Object.entries(schema)) visit(value, `${where}/${member}`);
  };
  for (const { responses } of described.values()) visit(responses, '');
  assert.deepEqual(
    found.filter((where) => !OPTIONAL_THROUGHOUT.some((end) => where.endsWith(end))),
    [],
  );
});

test('/docs is a page whose every asset comes from this server', async () => {
  const page = await fetch(`${platform.url}/docs`);
  assert.equal(page.status, 200);
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
  const html = await page.text();
  assert.match(html, /<title>Ironcraft agent platform<\/title>/);
  const assets = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => new URL(match[1] ?? '', page.url));
  assert.ok(assets.length >= 4, html);
  for (const asset of assets) {
    assert.equal(asset.origin, platform.url, `${asset.href} is elsewhere`);
    const answer = await fetch(asset);
    assert.equal(answer.status, 200, asset.href);
    const text = await answer.text();
    // A style sheet loads what it names; a script's strings are data, but for the addresses that it is set up with.
    if (asset.pathname.endsWith('.css')) assert.doesNotMatch(text, /(?:@import|url\()\s*["']?(?:https?:)?\/\//);
    if (asset.pathname.endsWith('initializer.js')) {
      assert.match(text, /validatorUrl: null/);
      // A token that is typed in is gone with the page, and no bar bears another name.
      assert.match(text, /"persistAuthorization":false/);
      assert.match(text, /"layout":"BaseLayout"/);
    }
  }
  const own = await fetch(`${platform.url}/docs/json`).then((response) => response.json());
  assert.deepEqual(own, document);
});

test('the reference begins with what a new project’s token calls, chapter by chapter', () => {
  const chapters = document.tags.map(({ name }) => name);
  assert.deepEqual(chapters.slice(0, 3), ['Smiths', 'Runs', 'Responses']);
  const read = [...described.values()].map(({ tags }) => tags[0] ?? '');
  // Each chapter is one piece, and they come in their order.
  assert.deepEqual(
    read.filter((name, at) => name !== read[at - 1]),
    chapters,
  );
  for (const { name, description } of document.tags) assert.ok(description, `${name} says nothing`);
});

describe('the document is rendered once', () => {
  for (const encoding of ['br', 'gzip', 'identity']) {
    test(`and sent as ${encoding}`, async () => {
      const answer = await sendRaw(platform.url, ['HEAD /openapi.json HTTP/1.1', `Accept-Encoding: ${encoding}`]);
      assert.equal(answer.headers.get('content-encoding'), encoding === 'identity' ? null : encoding);
      const length = Number(answer.headers.get('content-length'));
      assert.ok(
        encoding === 'identity' ? length === Buffer.byteLength(source) : length < source.length / 4,
        `${length}`,
      );
      const whole = await fetch(`${platform.url}/openapi.json`, { headers: { 'accept-encoding': encoding } });
      assert.equal(await whole.text(), source);
      assert.equal(whole.headers.get('content-length'), String(length));
    });
  }

  test('and not sent again to who has it', async () => {
    const { headers } = await fetch(`${platform.url}/openapi.json`);
    const etag = headers.get('etag') ?? '';
    const again = await fetch(`${platform.url}/openapi.json`, { headers: { 'if-none-match': etag } });
    assert.equal(again.status, 304);
    assert.equal(await again.text(), '');
  });

  test('and not packed for who refuses that', async () => {
    for (const refused of ['br;q=0, gzip;q=0', 'identity', 'zstd']) {
      const answer = await fetch(`${platform.url}/openapi.json`, { headers: { 'accept-encoding': refused } });
      assert.equal(answer.headers.get('content-encoding'), null, refused);
      await answer.arrayBuffer();
    }
  });
});

/** Objects of which a tenant leaves out whatever it likes, and the pieces of a streamed message. */
const OPTIONAL_THROUGHOUT = [
  'UiResource/properties/csp',
  'OtlpExportTraceServiceResponse',
  '/delta',
  '/delta/properties/tool_calls/items',
];

function find(id: string) {
  const one = described.get(id);
  assert.ok(one, `${id} is not in the document`);
  return one;
}

function checkDescription(operation: Operation, one: ReturnType<typeof find>): void {
  const { path, method, parameters = [], requestBody, responses, security, summary } = one;
  assert.deepEqual([method.toUpperCase(), path], [operation.method, operation.path]);
  assert.ok(summary);
  assert.deepEqual(security, operation.posture === 'public' ? [] : [{ bearer: [] }]);
  const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
  assert.deepEqual(inPath.sort(), [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort());
  const inQuery = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  assert.deepEqual(inQuery.sort(), Object.keys(propertiesOf(operation.query)).sort());
  const inHeader = parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name);
  assert.deepEqual(inHeader, operation.idempotent ? ['Idempotency-Key'] : []);
  for (const parameter of parameters) assert.equal(parameter.required ?? false, parameter.in === 'path');
  const takesBody = operation.body !== undefined || !operation.bodyFormat.startsWith('json');
  const types = Object.keys(requestBody?.content ?? {});
  const bare = operation.upload?.bareType;
  const expected = takesBody
    ? [...(BODY_TYPES[operation.bodyFormat] ?? []), ...(bare === undefined ? [] : [bare])]
    : [];
  assert.deepEqual(types, expected);
  const sent = requestBody?.content[types[0] ?? ''];
  assert.equal(requestBody?.required ?? false, operation.bodyFormat === 'raw' || needsBody(sent?.schema));
  checkAnswers(operation, responses);
}

const FORM_TYPE = 'application/x-www-form-urlencoded';
const BODY_TYPES = {
  json: ['application/json'],
  form: [FORM_TYPE],
  'json or form': ['application/json', FORM_TYPE],
  raw: ['*/*'],
  files: ['multipart/form-data'],
} as const;

function checkAnswers(operation: Operation, responses: Described['responses']): void {
  if (operation.kind === 'socket') {
    assert.ok(responses['101']);
    return;
  }
  const successes = Object.keys(responses).filter((status) => status.startsWith('2'));
  if (operation.answers === 'bytes') {
    assert.deepEqual(successes, ['200', '206']);
    for (const status of successes) {
      assert.deepEqual(Object.keys(responses[status]?.content ?? {}), ['application/octet-stream']);
    }
    assert.ok(responses['304']);
    return;
  }
  if (operation.answers !== undefined) {
    checkTexts(operation, responses);
    return;
  }
  const usual = operation.status ?? (operation.reply === undefined ? 204 : 200);
  assert.deepEqual(successes, [usual, ...(operation.alsoStatus ?? [])].map(String).sort());
  for (const status of successes) {
    const types = Object.keys(responses[status]?.content ?? {});
    const json = operation.reply === undefined || operation.streams === 'only' ? [] : ['application/json'];
    assert.deepEqual(types, [...json, ...(operation.streams === undefined ? [] : ['text/event-stream'])]);
  }
}

/** Pages, texts and redirects. */
function checkTexts({ answers = [], reply, status = 200 }: Operation, responses: Described['responses']): void {
  const types = { html: 'text/html', text: 'text/plain', xml: 'application/xml', protobuf: 'application/x-protobuf' };
  const json = reply === undefined ? [] : ['application/json'];
  const texts = [...answers].flatMap((kind) => types[kind as keyof typeof types] ?? []);
  assert.deepEqual(Object.keys(responses[status]?.content ?? {}), [...json, ...texts]);
  for (const onward of ['302', '303']) {
    assert.equal(responses[onward] !== undefined, answers.includes('redirect'), onward);
  }
}

/** Whether leaving the body out would be refused: a member of it is required. */
function needsBody(schema: Record<string, unknown> | undefined): boolean {
  if (schema === undefined) return false;
  const { $ref, anyOf, required } = schema as { $ref?: string; anyOf?: Record<string, unknown>[]; required?: string[] };
  if ($ref !== undefined) return needsBody(document.components.schemas[$ref.split('/').at(-1) ?? '']);
  if (anyOf !== undefined) return anyOf.every((one) => needsBody(one));
  return (required ?? []).length > 0;
}

/** What the contract says of every operation of this kind. */
function codesThatFollow({ posture, scope, path, body, bodyFormat, idempotent }: Operation): string[] {
  const codes = ['invalid_request', 'unsupported_api_version', 'rate_limit_exceeded', 'service_overloaded'];
  codes.push('internal_error');
  if (posture !== 'public') codes.push('unauthenticated');
  if (posture === 'tenant' || posture === 'any') codes.push('tenant_token_required');
  if (posture === 'admin') codes.push('admin_required');
  if (posture === 'org') codes.push('organization_required');
  if (scope !== undefined) codes.push('insufficient_scope');
  if (posture === 'any' && path.includes('{sid}')) codes.push('smith_mismatch');
  if (path.includes('{')) codes.push('not_found');
  if (body !== undefined || bodyFormat !== 'json') codes.push('payload_too_large');
  if (idempotent) codes.push('idempotency_in_progress', 'idempotency_key_reused');
  return codes;
}

/** The codes that stand between backticks in the description of each error status. */
function codesOf({ responses }: Described, dialect: Operation['errorDialect']): Map<number, string[]> {
  const { name, mediaType } = dialect ?? { name: 'Error', mediaType: 'application/json' };
  const failures = Object.entries(responses).filter(([status]) => Number(status) >= 400);
  return new Map(
    failures.map(([status, { description, content }]) => {
      assert.match(description, /^`\w+`(?:, `\w+`)*$/, `${status} names no codes`);
      assert.deepEqual(content?.[mediaType]?.schema, { $ref: `#/components/schemas/${name}` });
      return [Number(status), [...description.matchAll(/`(\w+)`/g)].map((match) => match[1] ?? '')];
    }),
  );
}

function propertiesOf(schema: unknown): Record<string, unknown> {
  return (schema as { properties?: Record<string, unknown> } | undefined)?.properties ?? {};
}

function findReferences(value: unknown, found = new Set<string>()): Set<string> {
  if (value === null || typeof value !== 'object') return found;
  for (const [name, member] of Object.entries(value)) {
    if (name === '$ref' && typeof member === 'string') found.add(member);
    else findReferences(member, found);
  }
  return found;
}
