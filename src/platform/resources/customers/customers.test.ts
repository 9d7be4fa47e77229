import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';

let platform: TestPlatform;
before(async () => {
  platform = await startPlatform();
});
after(() => platform.close());

const whole = { name: 'Acme', external_ids: { crm: 'C-7' }, metadata: { tier: 'gold', seats: 3 } };

test('a customer keeps every field that it was created with', async () => {
  const p = await platform.createProject();
  const created = await p.post('/v1/customers', whole);
  assert.equal(created.status, 201);
  assert.match(created.body.id, /^cus_/);
  const { id, created_at, ...rest } = created.body;
  assert.deepEqual(rest, { ...whole, smith_count: 0 });
  assert.ok(!Number.isNaN(Date.parse(created_at)));
  const { usage, budgets, ...customer } = (await p.get(`/v1/customers/${id}`)).body;
  assert.deepEqual(customer, created.body);
  assert.deepEqual([usage.calls, usage.cost, budgets], [0, 0, []]);
});

test('a name is required, and has a length', async () => {
  const p = await platform.createProject();
  const cases: [unknown, string, string][] = [
    [{}, 'name_required', 'name'],
    [{ name: '' }, 'invalid_name', 'name'],
    [{ name: 'x'.repeat(201) }, 'invalid_name', 'name'],
    [{ name: 'A', external_ids: { crm: 7 } }, 'invalid_request', 'external_ids.crm'],
    [{ name: 'A', metadata: [] }, 'invalid_request', 'metadata'],
    [{ name: 'A', colour: 'red' }, 'invalid_request', 'colour'],
  ];
  for (const [body, code, param] of cases) {
    const { status, body: answer } = await p.post('/v1/customers', body);
    assert.deepEqual([status, answer.error.code, answer.error.param], [422, code, param], JSON.stringify(body));
  }
});

test('a patch changes what it names, and null empties', async () => {
  const p = await platform.createProject();
  const { id } = (await p.post('/v1/customers', whole)).body;
  const renamed = await p.patch(`/v1/customers/${id}`, { name: 'Acme & Sons' });
  assert.deepEqual(
    [renamed.status, renamed.body.name, renamed.body.external_ids],
    [200, 'Acme & Sons', { crm: 'C-7' }],
  );
  const emptied = await p.patch(`/v1/customers/${id}`, { external_ids: null, metadata: null });
  assert.deepEqual([emptied.body.external_ids, emptied.body.metadata], [{}, {}]);
  assert.equal((await p.patch(`/v1/customers/${id}`, {})).body.error.code, 'nothing_to_update');
  const named = await p.patch(`/v1/customers/${id}`, { name: null });
  assert.deepEqual([named.status, named.body.name], [200, 'Acme & Sons']);
});

test('the list counts the live smiths of each customer, newest customer first', async () => {
  const p = await platform.createProject();
  const [first, second] = [
    (await p.post('/v1/customers', { name: 'A' })).body.id,
    (await p.post('/v1/customers', { name: 'B' })).body.id,
  ];
  const smith = await p.createSmith({ customer_id: first });
  await p.createSmith({ customer_id: first });
  const counts = async () =>
    (await p.get('/v1/customers')).body.data.map((customer: { id: string; smith_count: number }) => [
      customer.id,
      customer.smith_count,
    ]);
  assert.deepEqual(await counts(), [
    [second, 0],
    [first, 2],
  ]);
  await p.delete(`/v1/smiths/${smith}`);
  assert.deepEqual(await counts(), [
    [second, 0],
    [first, 1],
  ]);
});

test('a deleted customer is gone, and its smiths stay', async () => {
  const p = await platform.createProject();
  const { id } = (await p.post('/v1/customers', whole)).body;
  const smith = await p.createSmith({ customer_id: id });
  assert.equal((await p.delete(`/v1/customers/${id}`)).status, 204);
  assert.equal((await p.get(`/v1/customers/${id}`)).status, 404);
  assert.equal((await p.delete(`/v1/customers/${id}`)).status, 404);
  assert.equal((await p.get(`/v1/smiths/${smith}`)).body.customer_id, null);
});

test('deleting a customer while smiths are given to it fails nobody', async () => {
  const p = await platform.createProject();
  for (let round = 0; round < 10; round += 1) {
    const { id } = (await p.post('/v1/customers', { name: 'Short-lived' })).body;
    const answers = await Promise.all([
      ...Array.from({ length: 6 }, () => p.post('/v1/smiths', { customer_id: id })),
      p.delete(`/v1/customers/${id}`),
    ]);
    for (const { status, text } of answers) assert.ok([201, 204, 404].includes(status), text);
  }
});
