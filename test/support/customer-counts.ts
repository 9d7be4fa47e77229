/** Customers that count their smiths, while both change. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createRandom } from '../faults/seeded-random.ts';
import { publishAgent } from './agents.ts';
import { type Answer, startPlatform, type TestPlatform, type TestProject } from './platform.ts';
import { seedFor } from './seed.ts';

let platform: TestPlatform;

/** Customers, and smiths of which some belong to them, that random operations work on. */
interface World {
  readonly project: TestProject;
  readonly agent: string;
  readonly customers: string[];
  readonly smiths: string[];
}

async function makeWorld(): Promise<World> {
  const project = await platform.createProject();
  const agent = await publishAgent(project, { model: 'builtin/demo' });
  const customers = await Promise.all(
    ['A', 'B', 'C', 'D'].map(async (name) => (await project.post('/v1/customers', { name })).body.id as string),
  );
  const smiths = await Promise.all(
    customers.map((id) => project.createSmith({ customer_id: id, external_id: `first-${id}` })),
  );
  return { project, agent, customers, smiths };
}

function randomBelow(what: string): (below: number) => number {
  const random = createRandom(seedFor(what));
  return (below) => random.integer(0, below - 1);
}

/** One random operation. Whatever else it answers, it must not be a failure of the server. */
async function act({ project, agent, customers, smiths }: World, random: (below: number) => number): Promise<Answer> {
  const pick = (ids: readonly string[]) => ids[random(ids.length)] ?? '';
  const customer = random(5) === 0 ? null : pick(customers);
  const smith = pick(smiths);
  switch (random(9)) {
    case 0:
    case 1: {
      // Few external ids, so that creates find or race each other.
      const external = random(2) === 0 ? {} : { external_id: `user-${random(6)}` };
      const created = await project.post('/v1/smiths', { customer_id: customer, model: 'builtin/demo', ...external });
      if (created.status === 201) smiths.push(created.body.id);
      return created;
    }
    case 2:
    case 3:
      return project.patch(`/v1/smiths/${smith}`, { customer_id: customer });
    case 4:
      return project.patch(`/v1/smiths/${smith}`, { display_name: `Name ${random(100)}` });
    case 5:
      return project.post(`/v1/smiths/${smith}/revisions/${1 + random(3)}/restore`, {});
    case 6:
      return project.delete(`/v1/smiths/${smith}`);
    case 7:
      return project.post(`/v1/agents/${agent}/attach`, { smith_ids: [...new Set([smith, pick(smiths)])] });
    default: {
      if (random(3) > 0) return project.patch(`/v1/customers/${pick(customers)}`, { name: `N${random(100)}` });
      const removed = await project.delete(`/v1/customers/${pick(customers)}`);
      if (removed.status === 204) customers.push((await project.post('/v1/customers', { name: 'New' })).body.id);
      return removed;
    }
  }
}

/** Which of the customers that still stand have a count that is not the number of their live smiths. */
async function wrongCounts({ projectId }: TestProject): Promise<unknown[]> {
  const { rows } = await platform.db.query({
    text: `
      select customer.id, customer.smith_count, counted.count
      from customers customer, lateral (
        select count(*) as count from smiths
        where project_id = customer.project_id and customer_id = customer.id and archived_at is null
      ) counted
      where customer.project_id = $1 and customer.smith_count <> counted.count`,
    values: [projectId],
  });
  return rows;
}

async function countSmiths(world: World): Promise<number> {
  const { rows } = await platform.db.query<{ count: number }>({
    text: 'select coalesce(sum(smith_count), 0)::int as count from customers where project_id = $1',
    values: [world.project.projectId],
  });
  return rows[0]?.count ?? 0;
}

/** Declares tests of so many changes one after the other, and so many rounds of changes at once. */
export function testCustomerCounts(steps: number, rounds: number): void {
  before(async () => {
    platform = await startPlatform();
  });
  after(() => platform.close());

  test('a customer counts its live smiths after any sequence of changes', async () => {
    const world = await makeWorld();
    const random = randomBelow('customer counts');
    for (let step = 0; step < steps; step += 1) {
      const { status, text } = await act(world, random);
      assert.ok(status < 500, text);
      assert.deepEqual(await wrongCounts(world.project), [], `step ${step}`);
    }
    assert.ok((await countSmiths(world)) > 0);
  });

  test('changes at the same time fail nobody and lose no count', async () => {
    const world = await makeWorld();
    const random = randomBelow('customer counts, at once');
    for (let round = 0; round < rounds; round += 1) {
      const answers = await Promise.all(Array.from({ length: 12 }, () => act(world, random)));
      for (const { status, text } of answers) assert.ok(status < 500, text);
      assert.deepEqual(await wrongCounts(world.project), [], `round ${round}`);
    }
  });

  test('smiths of one customer are created at the same time', async () => {
    const { project, customers } = await makeWorld();
    const path = `/v1/customers/${customers[0]}`;
    const answers = await Promise.all(
      Array.from({ length: 30 }, () =>
        project.post('/v1/smiths', { customer_id: customers[0], model: 'builtin/demo' }),
      ),
    );
    for (const { status, text } of answers) assert.equal(status, 201, text);
    assert.equal((await project.get(path)).body.smith_count, 31);
    const again = { customer_id: customers[0], external_id: 'once', model: 'builtin/demo' };
    const provisioned = await Promise.all(Array.from({ length: 12 }, () => project.post('/v1/smiths', again)));
    assert.equal(new Set(provisioned.map(({ body }) => body.id)).size, 1);
    assert.equal((await project.get(path)).body.smith_count, 32);
  });

  test('smiths swap their customers crosswise, again and again, and no two changes wait for each other', async () => {
    const { project, customers, smiths } = await makeWorld();
    const [a = '', b = ''] = customers;
    const [first = '', second = ''] = smiths;
    for (let round = 0; round < rounds; round += 1) {
      const answers = await Promise.all(
        [a, b, a, b].flatMap((customer_id) => [
          project.patch(`/v1/smiths/${first}`, { customer_id }),
          project.patch(`/v1/smiths/${second}`, { customer_id: customer_id === a ? b : a }),
        ]),
      );
      for (const { status, text } of answers) assert.equal(status, 200, text);
      assert.deepEqual(await wrongCounts(project), []);
    }
  });
}
