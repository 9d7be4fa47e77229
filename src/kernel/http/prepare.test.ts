/** What a change makes elsewhere before its transaction: made once, and taken back where the change was refused. */
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { type SmallCaller, startSmallService } from '../../../test/support/small-service.ts';
import { ApiError } from './errors.ts';
import type { IdempotencyStore, StoredAnswer } from './idempotency.ts';
import { operationsFor } from './operation.ts';
import { Type } from './type-builder.ts';

type Outcome = 'done' | 'refuse' | 'break';
let outcome: Outcome = 'done';
let isChecked = true;
/** As the log of what happened elsewhere. */
let happened: string[] = [];
/** Another request with the key is done between the look at it and the transaction. */
let isRaced = false;
const stored = new Map<string, StoredAnswer>();

const answers: IdempotencyStore<SmallCaller> = {
  refusals: [],
  claim: async (_tx, _caller, { key }) => stored.get(key),
  complete: async (_tx, _caller, { key }, answer) => void stored.set(key, answer),
};

const operation = operationsFor<SmallCaller>().change({
  id: 'things.create',
  method: 'POST',
  path: '/v1/things',
  posture: 'open',
  summary: 'Make a thing',
  status: 201,
  body: Type.Object({ name: Type.String() }),
  reply: Type.Object({ made: Type.String() }),
  async precheck() {
    if (!isChecked) throw new ApiError('invalid_request');
  },
  prepare: {
    async make({ body }) {
      happened.push(`made ${body.name}`);
      if (isRaced) stored.set('raced', { status: 201, body: '{"made":"the other"}' });
      return { thing: body.name };
    },
    async discard(_request, { thing }) {
      happened.push(`discarded ${thing}`);
    },
  },
  async handler({ prepared }) {
    if (outcome === 'refuse') throw new ApiError('not_found');
    if (outcome === 'break') throw new Error('the connection broke on commit');
    return { made: prepared.thing };
  },
});

const service = await startSmallService([operation], { idempotency: answers });
after(() => service.close());
beforeEach(() => {
  outcome = 'done';
  isChecked = true;
  isRaced = false;
  happened = [];
});

async function create(name: string, key?: string): Promise<[status: number, made: string | undefined]> {
  const response = await fetch(`${service.url}/v1/things`, {
    method: 'POST',
    headers: {
      authorization: 'Bearer owner',
      'content-type': 'application/json',
      ...(key !== undefined && { 'idempotency-key': key }),
    },
    body: JSON.stringify({ name }),
  });
  const { made } = (await response.json()) as { made?: string };
  return [response.status, made];
}

test('the handler is given what was made, once for a key', async () => {
  assert.deepEqual(await create('one', 'key'), [201, 'one']);
  assert.deepEqual(await create('one', 'key'), [201, 'one']);
  assert.deepEqual(happened, ['made one']);
});

test('nothing is made for a request that a check has refused', async () => {
  isChecked = false;
  assert.deepEqual(await create('one'), [422, undefined]);
  assert.deepEqual(happened, []);
});

test('what a refused change had made is taken back; where its outcome is not known it stays', async () => {
  outcome = 'refuse';
  assert.deepEqual(await create('one'), [404, undefined]);
  assert.deepEqual(happened, ['made one', 'discarded one']);
  outcome = 'break';
  assert.deepEqual(await create('two'), [500, undefined]);
  assert.deepEqual(happened.slice(2), ['made two']);
});

test('of two requests with one key the one that comes second takes its own back', async () => {
  isRaced = true;
  assert.deepEqual(await create('mine', 'raced'), [201, 'the other']);
  assert.deepEqual(happened, ['made mine', 'discarded mine']);
});
