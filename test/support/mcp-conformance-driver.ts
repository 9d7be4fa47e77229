/**
 * The platform as the client of the protocol's conformance suite, which starts this program with the URL of a server:
 * registers it, and has a run call each of its tools, or those that the scenario names.
 */
import { startPlatform, type TestProject } from './platform.ts';

const url = process.argv.at(-1) ?? '';
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as {
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: object }[];
};
const platform = await startPlatform({ outboundAllow: ['127.0.0.1', 'localhost', '::1', 'example.com'] });
const p = await platform.createProject();
try {
  await p.put('/v1/tenant/mcp/peer', { url });
  const { body } = await p.post('/v1/tenant/mcp/peer/refresh');
  const smithId = await p.createSmith();
  const offered: string[] = body.tools
    .filter(({ enabled }: { enabled: boolean }) => enabled)
    .map(({ name }: { name: string }) => name);
  const schemas = await readSchemas();
  for (const call of context.toolCalls ?? offered.map((name) => ({ name, arguments: argumentsOf(name, schemas) }))) {
    await callTool(p, smithId, call.name, call.arguments);
  }
} finally {
  await platform.close();
}

/** As they are kept. */
async function readSchemas(): Promise<ReadonlyMap<string, object>> {
  const { rows } = await platform.db.query<{ tools: { name: string; input_schema: object }[] }>({
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
