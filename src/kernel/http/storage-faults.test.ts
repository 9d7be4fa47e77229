/** Failures of a store, as callers are told of them. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startSmallService } from '../../../test/support/small-service.ts';
import { BlobStoreUnavailableError } from '../blobs/blobs.ts';
import { StoreUnavailableError, StoreUnreachableError } from '../db/sql-errors.ts';
import { ApiError } from './errors.ts';
import { operationsFor } from './operation.ts';
import { refusalFor } from './storage-faults.ts';
import { Type } from './type-builder.ts';

const { change } = operationsFor<{ name: string }>();
const Fault = Type.Object({ state: Type.String(), where: Type.Optional(Type.String()) });

/** Raises an error of this SQLSTATE in the database, in the change's transaction. */
const raise = change({
  id: 'faults.raise',
  method: 'POST',
  path: '/v1/faults',
  posture: 'any',
  summary: 'Raise',
  body: Fault,
  handler: async ({ tx, body }) => {
    await tx.query({
      text: `do $$ begin raise exception using errcode = '${body.state}', message = 'secret detail'; end $$`,
      values: [],
    });
  },
});

const service = await startSmallService([raise]);
after(() => service.close());

function post(state: string): Promise<Response> {
  const headers = { authorization: 'Bearer ada', 'content-type': 'application/json' };
  return fetch(`${service.url}/v1/faults`, { method: 'POST', headers, body: JSON.stringify({ state }) });
}

const UNAVAILABLE: Readonly<Record<string, string>> = {
  '08006': 'a broken connection',
  '25006': 'a read-only database',
  '25P03': 'a transaction that was idle for too long',
  '40001': 'a conflict of transactions',
  '40P01': 'a deadlock',
  '53000': 'too little of something',
  '53100': 'a full disk',
  '53200': 'no memory',
  '53300': 'too many connections',
  '55P03': 'a lock that is not given',
  '57014': 'a statement that takes too long',
  '57P01': 'a server that is shut down',
  '57P02': 'a server that crashed',
  '57P03': 'a server that starts',
  '58030': 'a disk that cannot be read',
};

for (const [state, what] of Object.entries(UNAVAILABLE)) {
  test(`${what} (${state}) is storage_unavailable, with the time to wait and no word of the cause`, async () => {
    const reply = await post(state);
    const text = await reply.text();
    assert.deepEqual([reply.status, JSON.parse(text).error.code], [503, 'storage_unavailable']);
    assert.equal(reply.headers.get('retry-after'), '5');
    assert.doesNotMatch(text, /secret/);
  });
}

for (const state of ['22012', '23505', '42P01', '42501', 'P0001', 'XX000']) {
  test(`an error of ours in the database (${state}) is internal_error`, async () => {
    const reply = await post(state);
    assert.deepEqual([reply.status, reply.headers.get('retry-after')], [500, null]);
    assert.match(await reply.text(), /internal_error/);
  });
}

test('a failure of a store is one wherever it stands among the causes, and a refusal stays itself', () => {
  const unreachable = new StoreUnreachableError('no connection');
  for (const error of [
    unreachable,
    new StoreUnavailableError('lost'),
    new BlobStoreUnavailableError('full'),
    new Error('a step could not be stored', { cause: unreachable }),
  ]) {
    const refusal = refusalFor(error);
    assert.deepEqual([refusal.code, refusal.cause, refusal.detail.message], ['storage_unavailable', error, undefined]);
  }
  const refusal = new ApiError('not_found', { cause: unreachable });
  assert.equal(refusalFor(refusal), refusal);
  const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' });
  for (const error of [reset, new Error('x'), 'x', undefined]) assert.equal(refusalFor(error).code, 'internal_error');
});
