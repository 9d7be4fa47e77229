/**
 * A platform as the client of the protocol's conformance suite: registers the suite's server, connects a smith to it where it
 * takes accounts, and has a run call each of its tools, or those that the scenario names.
 */
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { goneOn } from './mcp-accounts.ts';
import { startPlatform, type TestPlatform, type TestProject } from './platform.ts';

interface Scenario {
  readonly name: string;
  /** Of the suite's server. */
  readonly url: string;
  readonly context: {
    readonly toolCalls?: readonly { readonly name: string; readonly arguments: object }[];
    /** A client that is registered at the suite's issuer already. */
    readonly issuer?: string;
    readonly client_id?: string;
    readonly client_secret?: string;
  };
}

export interface ConformanceDriver {
  /** What the suite starts as the client: to be it in a process of its own would take four seconds each time. */
  readonly command: string;
  /** What came of each scenario that takes an account: `called`, or the code of the refusal that ended it. */
  readonly outcomes: Map<string, string>;
  /** Of scenarios that could not be driven to their end. */
  readonly errors: string[];
  close(): Promise<void>;
}

export async function startConformanceDriver(): Promise<ConformanceDriver> {
  const outboundAllow = ['127.0.0.1', 'localhost', '::1', 'example.com'];
  const platform = await startPlatform({ outboundAllow, publicUrl: 'own' });
  const outcomes = new Map<string, string>();
  const errors: string[] = [];

  // Scenarios without accounts wait for their client to close its connections, which a platform does when it stops.
  let second: TestPlatform | undefined;
  let underWay = 0;
  async function drive(scenario: Scenario): Promise<void> {
    if (scenario.name.startsWith('auth/')) {
      outcomes.set(scenario.name, await driveSignIn(platform, scenario));
      return;
    }
    const { db, vault, blobs } = platform;
    second ??= await startPlatform({ outboundAllow, sharing: { db, vault, blobs } });
    await driveTools(second, scenario);
  }

  // The suite runs its scenarios side by side, and looks at the time in some: they are driven one after the other.
  let last: Promise<unknown> = Promise.resolve();
  const server = createServer(async (request, response) => {
    underWay += 1;
    const scenario = await readScenario(request);
    const driven = last.then(() => drive(scenario));
    last = driven.catch((error: unknown) => {
      errors.push(`${scenario.name}: ${error instanceof Error ? error.stack : String(error)}`);
      response.statusCode = 500;
    });
    await last;
    response.end();
    underWay -= 1;
    if (underWay > 0) return;
    await second?.close();
    second = undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('it listens on a port');
  // The suite adds the address of its server.
  const fields = ['name=$MCP_CONFORMANCE_SCENARIO', 'context=$MCP_CONFORMANCE_CONTEXT', 'url=$1'];
  const given = fields.map((field) => `--data-urlencode "${field}"`).join(' ');
  return {
    command: `sh -c 'exec curl -sSf ${given} http://127.0.0.1:${address.port}/' conformance-client`,
    outcomes,
    errors,
    async close() {
      server.close();
      server.closeAllConnections();
      await platform.close();
    },
  };
}

async function readScenario(request: IncomingMessage): Promise<Scenario> {
  const fields = new URLSearchParams(await text(request));
  const [name = '', url = '', context = ''] = ['name', 'url', 'context'].map((field) => fields.get(field) ?? '');
  return { name, url, context: JSON.parse(context === '' ? '{}' : context) };
}

/** A smith's account is connected by the links that it is given, and its tool called. */
async function driveSignIn(platform: TestPlatform, scenario: Scenario): Promise<string> {
  const p = await platform.createProject();
  const saved = await findSavedClient(scenario);
  const auth = saved === undefined ? {} : { provider: 'saved', client_mode: 'registered' };
  if (saved !== undefined) await p.put('/v1/tenant/providers/saved', saved);
  await p.put('/v1/tenant/mcp/peer', { url: scenario.url, auth: { kind: 'oauth', ...auth } });
  const smithId = await p.createSmith();
  const isTwice = scenario.name === 'auth/authorization-server-migration';
  // Its server has another issuer once it is asked for its tools, and refuses to list them.
  if (isTwice) await connectAndList(p, smithId);
  const { refusal, tool } = await connectAndList(p, smithId);
  if (tool === undefined) return refusal ?? 'no tools';
  const run = await callAndConnect(p, smithId, tool);
  const [call] = run.output?.tool_calls ?? [];
  return call?.status === 'completed' ? 'called' : JSON.stringify(run);
}

async function connectAndList(p: TestProject, smithId: string): Promise<{ refusal?: string; tool?: string }> {
  const asked = await p.post(`/v1/smiths/${smithId}/connections/authorize`, { provider: 'mcp:peer' });
  const refusal = asked.status === 200 ? await follow(asked.body.authorize_url) : asked.body.error.code;
  if (refusal !== undefined) return { refusal };
  const { status, body } = await p.post('/v1/tenant/mcp/peer/refresh');
  return status === 200 ? { tool: body.tools[0]?.name } : { refusal: body.error.code };
}

/** The metadata document that a client of the suite has as its own. */
const DOCUMENT_OF_SUITE = 'https://conformance-test.local/client-metadata.json';

/**
 * A client that a tenant has registered, or published, and saves with us. Undefined: one is to be had without. The suite wants
 * to see an id of its own where a client is a metadata document, and never reads it; ours is always below our own address.
 */
async function findSavedClient({ name, url, context }: Scenario): Promise<object | undefined> {
  if (context.client_id !== undefined) {
    const { issuer, client_id, client_secret } = context;
    return { issuer, client_id, client_secret };
  }
  if (name !== 'auth/basic-cimd') return undefined;
  const metadata = await fetch(new URL('/.well-known/oauth-protected-resource/mcp', url));
  const { authorization_servers: issuers } = (await metadata.json()) as { authorization_servers: string[] };
  return { issuer: issuers[0], client_id: DOCUMENT_OF_SUITE };
}

/** As a browser does. The code of a refusal; undefined: the account is connected. */
async function follow(link: string): Promise<string | undefined> {
  const answer = await fetch(link);
  const { error } = (await answer.json()) as { error?: { code: string } };
  return error?.code;
}

/** Links that a call may give in one run. */
const LINKS_FOLLOWED = 4;

// biome-ignore lint/suspicious/noExplicitAny: a run, as it is answered.
async function callAndConnect(p: TestProject, smithId: string, name: string): Promise<any> {
  const begun = await p.post(`/v1/smiths/${smithId}/runs`, {
    input: [{ role: 'user', content: `Call the tool peer__${name} with {}` }],
  });
  let run = begun.body;
  for (let followed = 0; run.status === 'paused' && followed < LINKS_FOLLOWED; followed += 1) {
    const [{ connection }] = run.output.tool_calls;
    await follow(connection.authorize_url);
    run = await goneOn(p, smithId, run.id, connection.authorize_url);
  }
  return run;
}

async function driveTools(platform: TestPlatform, { url, context }: Scenario): Promise<void> {
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
