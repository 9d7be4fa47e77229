/** What a list costs in a project with a million rows, against one with a thousand, in the same tables. */
import Type from 'typebox';
import { Parse } from 'typebox/value';
import { pageReply, readPage } from '../../src/kernel/http/paging.ts';
import type { BenchDatabase } from '../database.ts';
import type { Figure, Findings } from '../figure.ts';
import type { Ironcraft } from '../ironcraft.ts';
import { generateLoad } from '../load/generate-load.ts';
import type { HttpRequest } from '../load/jobs.ts';
import { createAgent } from '../provision.ts';
import type { BenchContext } from './bench-context.ts';
import { getSummary } from './measure-runs.ts';
import { remarkFailures } from './remarks.ts';
import {
  findRowId,
  rareSmithNumber,
  type SeededProject,
  SPREAD_MIDDLE,
  seedProject,
  settleTables,
} from './seed-lists.ts';

const RATIO = 1.3;

interface ListedProject extends SeededProject {
  readonly token: string;
}

export async function measureLists({ server, database, quick, say }: BenchContext): Promise<Findings> {
  if (database === undefined) {
    return {
      figures: [],
      remarks: ['Lists: the rows are written by SQL, so they need --store postgres.'],
      details: {},
    };
  }
  const [smallRows, largeRows] = quick ? [1000, 20_000] : [1000, 1_000_000];
  say(`lists: writing ${smallRows} and ${largeRows} rows of customers, smiths, runs and events each`);
  const small = await createProject(server, database, 'Small', smallRows);
  const large = await createProject(server, database, 'Large', largeRows);
  await settleTables(database);

  const smallLists = await describeLists(database, small);
  const largeLists = await describeLists(database, large);
  say('lists: reading them');
  const rounds = quick ? 20 : 200;
  const compared = [];
  const failures = [];
  for (const [name, smallRequest] of smallLists) {
    const largeRequest = largeLists.get(name) ?? smallRequest;
    await requireFullPages(server, name, smallRequest, largeRequest);
    const { host, port } = server;
    const requests = { small: smallRequest, large: largeRequest };
    const result = await generateLoad({ kind: 'sequence', host, port, requests, warmUpRounds: rounds / 10, rounds });
    failures.push(...remarkFailures(name, result));
    const [p50Small, p50Large] = [getSummary(result, 'small').p50, getSummary(result, 'large').p50];
    compared.push({
      resource: name.split(/\W/, 1)[0] ?? name,
      name,
      p50_small: p50Small,
      p50_large: p50Large,
      ratio: p50Large / p50Small,
    });
  }
  const slowest = Math.max(...compared.map(({ p50_large }) => p50_large));
  return {
    figures: [
      ...Object.entries(Object.groupBy(compared, ({ resource }) => resource)).map(([resource, lists = []]): Figure => {
        const worst = lists.reduce((found, each) => (each.ratio > found.ratio ? each : found));
        const name = `lists of ${resource}, ${largeRows} rows against ${smallRows}, p50, worst of ${lists.length}: ${worst.name}`;
        return { name, value: worst.ratio, unit: '×', bar: { atMost: RATIO } };
      }),
      { name: `slowest list at ${largeRows} rows, p50`, value: slowest, unit: 'ms' },
    ],
    remarks: failures,
    details: compared,
  };
}

async function createProject(
  server: Ironcraft,
  database: BenchDatabase,
  name: string,
  rows: number,
): Promise<ListedProject> {
  const key = server.credentials.organization_key;
  const { id: projectId } = Parse(
    Type.Object({ id: Type.String() }),
    await server.call(key, 'POST', '/v1/organization/projects', { name }),
  );
  const { token } = Parse(
    Type.Object({ token: Type.String() }),
    await server.call(key, 'POST', `/v1/organization/projects/${projectId}/tokens`, {}),
  );
  const commonAgentId = await createAgent(server, token, 'Common');
  const rareAgentId = await createAgent(server, token, 'Rare');
  const project = { projectId, token, commonAgentId, rareAgentId, rows };
  await seedProject(database, project);
  return project;
}

/** Each list with each of its filters; deep pages begin at the middle of the table. */
async function describeLists(database: BenchDatabase, project: ListedProject): Promise<Map<string, HttpRequest>> {
  const rowId = (prefix: 'cus' | 'smt' | 'run' | 'evt', number: number) => findRowId(database, prefix, project, number);
  const middle = project.rows / 2;
  const smithWithRuns = await rowId('smt', rareSmithNumber(5, project.rows));
  const since = SPREAD_MIDDLE.toISOString();
  const lists: [name: string, path: string, query: Record<string, string>][] = [
    ['customers', '/v1/customers', {}],
    ['customers, deep', '/v1/customers', { cursor: cursorAfter(project, 'customers', await rowId('cus', middle)) }],
    // Among them the eleven that have all the smiths, whose number each row shows.
    [
      'customers, those with smiths',
      '/v1/customers',
      { cursor: cursorAfter(project, 'customers', await rowId('cus', 22)) },
    ],
    ['smiths', '/v1/smiths', {}],
    ['smiths, deep', '/v1/smiths', { cursor: cursorAfter(project, 'smiths', await rowId('smt', middle)) }],
    ['smiths by external_id', '/v1/smiths', { external_id: `vip-${rareSmithNumber(5, project.rows)}` }],
    ['smiths by external_id_prefix, common', '/v1/smiths', { external_id_prefix: 'user-' }],
    ['smiths by external_id_prefix, rare', '/v1/smiths', { external_id_prefix: 'vip-' }],
    ['smiths by agent_id, common', '/v1/smiths', { agent_id: project.commonAgentId }],
    ['smiths by agent_id, rare', '/v1/smiths', { agent_id: project.rareAgentId }],
    ['smiths by customer_id, common', '/v1/smiths', { customer_id: await rowId('cus', 5) }],
    ['smiths by customer_id, rare', '/v1/smiths', { customer_id: await rowId('cus', 1) }],
    ['runs', '/v1/runs', {}],
    ['runs, deep', '/v1/runs', { cursor: cursorAfter(project, 'runs', await rowId('run', middle)) }],
    ['runs by smith_id', '/v1/runs', { smith_id: smithWithRuns }],
    ['runs of a smith', `/v1/smiths/${smithWithRuns}/runs`, {}],
    ['runs by agent_id, common', '/v1/runs', { agent_id: project.commonAgentId }],
    ['runs by agent_id, rare', '/v1/runs', { agent_id: project.rareAgentId }],
    ['runs by status, common', '/v1/runs', { status: 'completed' }],
    ['runs by status, rare', '/v1/runs', { status: 'failed' }],
    ['runs by external_id_prefix, common', '/v1/runs', { external_id_prefix: 'user-' }],
    ['runs by external_id_prefix, rare', '/v1/runs', { external_id_prefix: 'vip-' }],
    ['runs since', '/v1/runs', { since }],
    ['events', '/v1/events', {}],
    ['events, deep', '/v1/events', { cursor: cursorAfter(project, 'events', await rowId('evt', middle)) }],
    ['events by type, common', '/v1/events', { type: 'run.completed' }],
    ['events by type, rare', '/v1/events', { type: 'run.failed' }],
    ['events by smith_id', '/v1/events', { smith_id: smithWithRuns }],
    ['events since', '/v1/events', { since }],
  ];
  const headers = { authorization: `Bearer ${project.token}` };
  return new Map(
    lists.map(([name, path, query]) => {
      const search = new URLSearchParams(query).toString();
      return [name, { method: 'GET', path: search === '' ? path : `${path}?${search}`, headers, expect: '"data":[{' }];
    }),
  );
}

/** The cursor that the API itself would hand out after a page of the unfiltered list that ends with this row. */
function cursorAfter({ projectId }: ListedProject, list: string, id: string): string {
  const page = readPage({ limit: 1 }, [projectId, list]);
  return (
    pageReply(
      [id, id],
      page,
      (row) => row,
      (row) => row,
    ).next_cursor ?? ''
  );
}

const Listed = Type.Object({ data: Type.Array(Type.Unknown()) });

/** Two answers compare only when they hold the same number of rows. */
async function requireFullPages(
  server: Ironcraft,
  name: string,
  small: HttpRequest,
  large: HttpRequest,
): Promise<void> {
  const [smallCount, largeCount] = await Promise.all(
    [small, large].map(async ({ headers, path }) => {
      const token = headers.authorization?.replace('Bearer ', '') ?? '';
      return Parse(Listed, await server.call(token, 'GET', path)).data.length;
    }),
  );
  if (smallCount !== largeCount || smallCount === 0) {
    throw new Error(`list ${name}: ${smallCount} rows in the small project, ${largeCount} in the large one`);
  }
}
