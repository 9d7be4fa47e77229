/**
 * A platform as the client of the protocol's conformance suite: registers the suite's server, and has a run call each of its
 * tools, or those that the scenario names.
 */
import { createSecretKey, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { createVault } from '../../src/kernel/vault/vault.ts';
import { openTestDatabase } from './database.ts';
import { startPlatform, type TestPlatform, type TestProject } from './platform.ts';

interface Scenario {
  /** Of the suite's server. */
  readonly url: string;
  readonly context: { readonly toolCalls?: readonly { readonly name: string; readonly arguments: object }[] };
}

export interface ConformanceDriver {
  /** Takes scenarios, see mcp-conformance-relay.ts: to be the client in a process of its own would take four seconds each time. */
  readonly url: string;
  close(): Promise<void>;
}

export async function startConformanceDriver(): Promise<ConformanceDriver> {
  const { db, close } = await openTestDatabase();
  const sharing = { db, vault: createVault([createSecretKey(randomBytes(32))]) };
  const server = createServer(async (request, response) => {
    // Each scenario waits for its client to close its connections, which a platform does when it stops.
    const platform = await startPlatform({ sharing, outboundAllow: ['127.0.0.1', 'localhost', '::1', 'example.com'] });
    try {
      await drive(platform, (await json(request)) as Scenario);
    } catch (error) {
      response.writeHead(500).write(error instanceof Error ? error.stack : String(error));
    } finally {
      await platform.close();
      response.end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('it listens on a port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    async close() {
      server.close();
      server.closeAllConnections();
      await close();
    },
  };
}

async function drive(platform: TestPlatform, { url, context }: Scenario): Promise<void> {
  const p = await platform.createProject();
  await p.put('/v1/tenant/mcp/peer', { url });
  const { body } = await p.post('/v1/tenant/mcp/peer/refresh');
  const smithId = await p.createSmith();
  const offered: string[] = body.tools
    .filter(({ enabled }: { enabled: boolean }) => enabled)
    .map(({ name }: { name: string }) => name);
  const schemas = await readSchemas(platform, p);
  for (const call of context.toolCalls ?? offered.map((name) => ({ name, arguments: argumentsOf(name, schemas) }))) {
    await callTool(p, smithId, call.name, call.arguments);
  }
}

/** As they are kept. */
async function readSchemas({ db }: TestPlatform, p: TestProject): Promise<ReadonlyMap<string, object>> {
  const { rows } = await db.query<{ tools: { name: string; input_schema: object }[] }>({
    text: 'select l.tools from mcp_tool_lists l where l.project_id = $1 and l.replaced_at is null',
    values: [p.projectId],
  });
  return new Map(rows.flatMap(({ tools }) => tools).map((tool) => [tool.name, tool.input_schema]));
}

function argumentsOf(name: string, schemas: ReadonlyMap<string, object>): object {
  if (name === 'add_numbers') return { a: 2, b: 3 };
  // Wants to see the schema of the other tool as we have it.
  if (name === 'json_schema_echo') return { schema: [...schemas].find(([other]) => other !== name)?.[1] ?? {} };
  return {};
}

async function callTool(project: TestProject, smithId: string, name: string, args: object): Promise<void> {
  const { body } = await project.post(`/v1/smiths/${smithId}/runs`, {
    input: [{ role: 'user', content: `Call the tool peer__${name} with ${JSON.stringify(args)}` }],
  });
  for (let run = body, asked = 0; run.status === 'paused' && asked < 4; asked += 1) {
    const waiting = run.output.tool_calls.find(({ status }: { status: string }) => status === 'requires_approval');
    const approval = await project.get(`/v1/approvals/${waiting.approval_id}`);
    const answer = await project.post(`/v1/smiths/${smithId}/runs/${run.id}/submit`, {
      kind: 'approval',
      approval_id: waiting.approval_id,
      decision: 'approve',
      content: fillIn(approval.body.elicitation?.requested_schema?.properties ?? {}),
    });
    run = answer.body;
  }
}

/** What has no default. */
function fillIn(properties: Readonly<Record<string, { readonly type?: string; readonly default?: unknown }>>): object {
  const open = Object.entries(properties).filter(([, schema]) => schema.default === undefined);
  return Object.fromEntries(
    open.map(([name, { type }]) => [name, type === 'boolean' ? true : type === 'string' ? 'Ada' : 1]),
  );
}
