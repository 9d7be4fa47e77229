/** The order of checks and what happens to answers, on a service with no product in it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Writable } from 'node:stream';
import { after, describe, type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openTestDatabase } from '../../../test/support/database.ts';
import { describeSmallService, type SmallCaller } from '../../../test/support/small-service.ts';
import { createLogger } from '../log/log.ts';
import { ApiError } from './errors.ts';
import { mountHealth } from './health.ts';
import { SAMPLE_MS, WINDOW_MS } from './lateness.ts';
import { HttpReply, type Operation, operationsFor } from './operation.ts';
import { closedObject, component } from './schema.ts';
import { createService, type ServiceOptions } from './service.ts';
import { Type } from './type-builder.ts';

const TIMEOUT_MS = 60_000;
const { read, change } = operationsFor<SmallCaller>();
const Thing = component('Thing', Type.Object({ id: Type.String(), when: Type.Optional(Type.String()) }));
const operations = [
  read({
    id: 'things.get',
    method: 'GET',
    path: '/v1/things/{id}',
    posture: 'open',
    summary: 'Get a thing',
    params: Type.Object({ id: Type.String() }),
    reply: Thing,
    handler: async ({ params }) => ({ id: params.id, secret: 'leaked?' }) as { id: string },
  }),
  change({
    id: 'things.create',
    method: 'POST',
    path: '/v1/things',
    posture: 'closed',
    summary: 'Create a thing',
    status: 201,
    body: closedObject({ id: Type.String(), fail: Type.Optional(Type.String()) }),
    reply: Thing,
    async handler({ body, tx }) {
      await tx.query({ text: 'insert into things (id) values ($1)', values: [body.id] });
      if (body.fail === 'known') {
        const headers = { 'x-hint': 'h' };
        throw new ApiError('not_found', {
          details: { why: 1 },
          retryAfterSeconds: 1.2,
          headers,
          cause: 'secret cause',
        });
      }
      if (body.fail === 'unlisted') throw new ApiError('no_such_code', { message: 'secret message' });
      if (body.fail === 'bug') throw new TypeError('secret bug');
      if (body.fail === 'text') throw 'secret text';
      return new HttpReply(200, { id: body.id }, { 'x-thing': body.id });
    },
  }),
  change({
    id: 'things.delete',
    method: 'DELETE',
    path: '/v1/things/{id}',
    posture: 'open',
    summary: 'Delete a thing',
    params: Type.Object({ id: Type.String() }),
    handler: async () => undefined,
  }),
];

const { db, close } = await openTestDatabase();
await db.query({ text: 'create table things (id text)' });
const logged: string[] = [];
const log = new Writable({
  write(chunk, _encoding, done) {
    logged.push(String(chunk));
    done();
  },
});
const app = await createService(optionsFor(operations));
const url = await app.listen({ host: '127.0.0.1', port: 0 });
after(async () => {
  await app.close();
  await close();
});

describe('the first check that fails decides', () => {
  /** Each request repairs the fault that the one before was refused for. */
  const faults = { version: '1999-01-01', token: '', body: '{', posture: 'Bearer guest' };
  const ladder: readonly (readonly [repaired: object, status: number, code: string])[] = [
    [{}, 400, 'unsupported_api_version'],
    [{ version: '2' }, 401, 'unauthenticated'],
    [{ version: '2', token: faults.posture }, 403, 'wrong_posture'],
    [{ version: '2', token: 'Bearer owner' }, 422, 'invalid_request'],
    [{ version: '2', token: 'Bearer owner', body: '{"id": 5}' }, 422, 'invalid_request'],
  ];
  for (const [repaired, status, code] of ladder) {
    test(`${code}, with ${Object.keys(repaired).join(', ') || 'nothing'} repaired`, async () => {
      const { version, token, body } = { ...faults, ...repaired };
      const headers = { 'x-version': version, authorization: token, 'content-type': 'application/json' };
      const response = await fetch(`${url}/v1/things`, { method: 'POST', headers, body });
      assert.equal(response.status, status);
      assert.equal((await errorOf(response)).code, code);
    });
  }

  test('a budget that is used up comes before the body and behind the posture', async () => {
    const limited = await createService({ ...optionsFor(operations), requestsPerMinute: 1 });
    const address = await limited.listen({ host: '127.0.0.1', port: 0 });
    try {
      const send = (name: string) =>
        fetch(`${address}/v1/things`, {
          method: 'POST',
          headers: { ...as(name), 'content-type': 'application/json' },
          body: '{',
        });
      const statuses: number[] = [];
      for (const name of ['owner', 'owner', 'guest', 'guest']) statuses.push((await send(name)).status);
      assert.deepEqual(statuses, [422, 429, 403, 403]);
      const things = await fetch(`${address}/v1/things/a`, { headers: as('guest') });
      assert.equal(things.status, 429, 'what the posture refused was counted');
    } finally {
      await limited.close();
    }
  });
});

describe('every answer says what is left of a budget, and the version', () => {
  const shown = ['ratelimit', 'ratelimit-policy', 'x-ratelimit-remaining-requests', 'x-version', 'x-request-id'];

  for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs', '/nothing']) {
    test(path, async () => {
      const { address, close } = await listen(optionsFor(operations));
      try {
        const answer = await fetch(address + path);
        await answer.arrayBuffer();
        for (const name of shown) assert.notEqual(answer.headers.get(name), null, name);
      } finally {
        await close();
      }
    });
  }

  test('probes and documents take from budgets of their own', async () => {
    const { address, close } = await listen(optionsFor(operations));
    try {
      const left: Record<string, string | null> = {};
      for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs', '/', '/nothing']) {
        const answer = await fetch(address + path);
        await answer.arrayBuffer();
        left[path] = answer.headers.get('ratelimit');
      }
      assert.deepEqual(left, {
        '/healthz': '"probe";r=5999;t=60',
        '/readyz': '"probe";r=5998;t=60',
        '/metrics': '"document";r=599;t=60',
        '/openapi.json': '"document";r=598;t=60',
        '/docs': '"document";r=597;t=60',
        '/': '"document";r=596;t=60',
        '/nothing': '"address";r=999;t=60',
      });
    } finally {
      await close();
    }
  });

  test('one that comes while the server closes, too', async () => {
    const entered = Promise.withResolvers<void>();
    const leave = Promise.withResolvers<void>();
    const wait = read({
      id: 'things.wait',
      method: 'GET',
      path: '/v1/wait',
      posture: 'open',
      summary: 'Wait',
      reply: Thing,
      handler: async () => {
        entered.resolve();
        await leave.promise;
        return { id: 'waited' };
      },
    });
    const service = await createService(optionsFor([wait]));
    const closing = Promise.withResolvers<void>();
    service.addHook('preClose', async () => closing.resolve());
    const { hostname, port } = new URL(await service.listen({ host: '127.0.0.1', port: 0 }));
    const socket = connect({ host: hostname, port: Number(port) });
    const line = 'GET /v1/wait HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer guest\r\n\r\n';
    socket.write(line);
    await entered.promise;
    const closed = service.close();
    await closing.promise;
    socket.write(line);
    // The second request is read before the first is answered.
    await once(service.server, 'request');
    leave.resolve();
    const text = (await socket.toArray()).join('');
    await closed;
    const [, first = '', second = ''] = text.split('HTTP/1.1 ');
    assert.match(first, /^200 /);
    assert.match(second, /^503 /);
    assert.match(second, /"code":"service_overloaded"/);
    for (const name of [...shown, 'retry-after']) assert.ok(second.includes(`\r\n${name}: `), `${name} in ${second}`);
  });
});

describe('a reply', () => {
  test('has the members of its schema and no other', async () => {
    const response = await fetch(`${url}/v1/things/a`, { headers: as('guest') });
    assert.equal(await response.text(), '{"id":"a"}');
  });

  test('may have a status and headers of its own', async () => {
    const response = await create({ id: 'b' });
    assert.deepEqual([response.status, response.headers.get('x-thing')], [200, 'b']);
  });

  test('without a schema is 204 and empty', async () => {
    const response = await fetch(`${url}/v1/things/a`, { method: 'DELETE', headers: as('guest') });
    assert.deepEqual([response.status, await response.text()], [204, '']);
  });
});

describe('what a handler throws', () => {
  test('with a code of the catalogue is the answer, with details, headers and whole seconds to wait', async () => {
    const response = await create({ id: 'c', fail: 'known' });
    assert.equal(response.status, 404);
    assert.deepEqual([response.headers.get('retry-after'), response.headers.get('x-hint')], ['2', 'h']);
    assert.deepEqual(await errorOf(response), {
      message: 'Gone. Look elsewhere.',
      type: 'invalid_request_error',
      param: null,
      code: 'not_found',
      details: { why: 1 },
    });
  });

  for (const fail of ['unlisted', 'bug', 'text']) {
    test(`and is anything else (${fail}) is 500, says nothing of its cause, and the log does`, async () => {
      const response = await create({ id: 'd', fail });
      assert.equal(response.status, 500);
      const error = await errorOf(response);
      assert.deepEqual([error.code, error.message], ['internal_error', 'Ours. Report it.']);
      const id = response.headers.get('x-request-id') ?? '';
      const lines = logged.filter((line) => line.includes(id));
      assert.ok(
        lines.some((line) => line.includes('secret')),
        lines.join(),
      );
    });
  }

  test('is logged, as every answer is, with the id that the caller was told, once', async () => {
    const { headers } = await create({ id: 'e', fail: 'bug' });
    const id = headers.get('x-request-id') ?? '';
    const lines = await untilLogged(id, 2);
    assert.deepEqual(lines.map(({ msg }) => msg).sort(), ['request', 'request failed']);
    for (const { text, requestId } of lines) {
      assert.equal(requestId, id);
      assert.equal(text.split(id).length, 2, text);
    }
  });

  test('undoes the change', async () => {
    for (const fail of ['known', 'bug']) await create({ id: 'undone', fail });
    const { rows } = await db.query({ text: `select from things where id = 'undone'` });
    assert.equal(rows.length, 0);
    await create({ id: 'done' });
    assert.equal((await db.query({ text: `select from things where id = 'done'` })).rows.length, 1);
  });
});

describe('a service whose event loop is overloaded', () => {
  /** The clock and the timer of the service's monitor are the test's. */
  function controlLateness(t: TestContext) {
    let nowMs = 0;
    t.mock.timers.enable({ apis: ['setInterval'] });
    t.mock.method(performance, 'now', () => nowMs);
    const block = (ms: number) => {
      nowMs += ms;
    };
    const fireTimer = () => t.mock.timers.tick(SAMPLE_MS);
    /** For twice as long as the monitor looks back. */
    const run = (stepMs: number) => {
      for (const endMs = nowMs + 2 * WINDOW_MS; nowMs < endMs; ) {
        block(stepMs);
        fireTimer();
      }
    };
    return { block, fireTimer, run };
  }

  test('an overloaded service refuses operations before it looks at the token, answers probes, and recovers', async (t) => {
    const { run } = controlLateness(t);
    const { address, close } = await listen({ ...optionsFor(operations), overloadDelayMs: 100 });
    try {
      const send = (headers = {}) => fetch(`${address}/v1/things/a`, { headers });
      assert.equal((await send()).status, 401);
      run(200);
      const refused = await send();
      assert.equal(refused.status, 503);
      assert.equal(refused.headers.get('retry-after'), '2');
      assert.equal((await errorOf(refused)).code, 'service_overloaded');
      assert.equal((await send({ 'x-version': 'none' })).status, 400);
      for (const probe of ['/healthz', '/metrics']) assert.equal((await fetch(address + probe)).status, 200);
      assert.equal((await send()).status, 503);
      run(SAMPLE_MS);
      assert.equal((await send()).status, 401);
    } finally {
      await close();
    }
  });

  test('a service does a part of its work and refuses the rest when each turn has seconds of it', async (t) => {
    const { block, fireTimer } = controlLateness(t);
    const grind = read({
      id: 'things.grind',
      method: 'GET',
      path: '/v1/grind',
      posture: 'open',
      summary: 'Grind',
      reply: Thing,
      handler: async () => {
        block(40);
        return { id: 'ground' };
      },
    });
    const { address, close } = await listen(withDefaultLimit([grind]));
    try {
      const statuses: number[] = [];
      for (let turn = 0; turn < 2; turn += 1) {
        for (let request = 0; request < 60; request += 1) {
          const answer = await fetch(`${address}/v1/grind`, { headers: as('guest') });
          await answer.text();
          statuses.push(answer.status);
        }
        fireTimer();
      }
      assert.deepEqual([...new Set(statuses)], [200, 503]);
    } finally {
      await close();
    }
  });

  test('a service refuses nothing after one pause for garbage collection', async (t) => {
    const { block, fireTimer } = controlLateness(t);
    const { address, close } = await listen(withDefaultLimit(operations));
    try {
      const ask = async () => (await fetch(`${address}/v1/things/a`, { headers: as('guest') })).status;
      block(240);
      assert.equal(await ask(), 200);
      fireTimer();
      assert.equal(await ask(), 200);
    } finally {
      await close();
    }
  });
});

describe('a service does not start', () => {
  const broken = (operation: Operation<SmallCaller>) =>
    assert.rejects(createService(optionsFor([operation as Operation<never>])));
  const facts = { id: 'x.y', method: 'GET', path: '/v1/x', posture: 'open', summary: 'X' } as const;

  test('when an operation names a code that the catalogue lacks', async () => {
    await broken(read({ ...facts, errors: ['no_such_code'], handler: async () => undefined as never }));
  });

  test('when a schema names one', async () => {
    const query = Type.Object({ a: Type.String({ 'x-error-code': 'no_such_code' }) });
    await broken(read({ ...facts, query, handler: async () => undefined as never }));
  });

  test('when two schemas share a name', async () => {
    const reply = Type.Object({ a: Thing, b: component('Thing', Type.Object({ other: Type.String() })) });
    await broken(read({ ...facts, reply, handler: async () => undefined as never }));
  });
});

function optionsFor(served: readonly Operation<never>[]): ServiceOptions<SmallCaller> {
  return { ...describeSmallService(db, served), logger: createLogger({ logLevel: 'info' }, log) };
}

function withDefaultLimit(served: readonly Operation<never>[]): ServiceOptions<SmallCaller> {
  const { overloadDelayMs: _, ...options } = optionsFor(served);
  return options;
}

async function listen(options: ServiceOptions<SmallCaller>): Promise<{ address: string; close: () => Promise<void> }> {
  const service = await createService(options);
  const { metrics } = options;
  mountHealth(service, { service: 'things', commit: '1', checks: {}, metrics, isServing: () => true });
  return { address: await service.listen({ host: '127.0.0.1', port: 0 }), close: () => service.close() };
}

/** The log's lines of a request, once there are so many. */
async function untilLogged(id: string, count: number) {
  const deadline = performance.now() + TIMEOUT_MS;
  for (;;) {
    const found = logged.filter((line) => line.includes(id));
    if (found.length >= count) {
      return found.map((text) => ({ text, ...(JSON.parse(text) as { msg: string; requestId?: string }) }));
    }
    assert.ok(performance.now() < deadline, `the log has ${found.length} lines of ${id}`);
    await nextTurn();
  }
}

function create(body: object): Promise<Response> {
  const headers = { ...as('owner'), 'content-type': 'application/json' };
  return fetch(`${url}/v1/things`, { method: 'POST', headers, body: JSON.stringify(body) });
}

function as(name: string): Record<string, string> {
  return { authorization: `Bearer ${name}` };
}

async function errorOf(response: Response): Promise<Record<string, unknown>> {
  const body = (await response.json()) as { error: Record<string, unknown> };
  assert.deepEqual(Object.keys(body), ['error']);
  return body.error;
}
