/** What tests about agents and smiths keep needing. */
import assert from 'node:assert/strict';
import type { TestProject } from './platform.ts';

/** Creates an agent with these settings and publishes its first version. Returns its id. */
export async function publishAgent(project: TestProject, settings: Record<string, unknown> = {}): Promise<string> {
  const created = await project.post('/v1/agents', { name: 'Concierge', instructions: 'Be kind.', ...settings });
  assert.equal(created.status, 201, created.text);
  await publishVersion(project, created.body.id);
  return created.body.id;
}

/** Publishes the draft, changed first when a patch is given. Returns the version. */
export async function publishVersion(
  project: TestProject,
  agentId: string,
  patch?: Record<string, unknown>,
): Promise<number> {
  if (patch !== undefined) assert.equal((await project.patch(`/v1/agents/${agentId}`, patch)).status, 200);
  const published = await project.post(`/v1/agents/${agentId}/versions`, {});
  assert.equal(published.status, 201, published.text);
  return published.body.version;
}

/** Registers an MCP server that nobody asks for anything. Returns its name. */
export async function registerMcpServer(project: TestProject, name: string): Promise<string> {
  const created = await project.put(`/v1/tenant/mcp/${name}`, { url: 'https://example.com/mcp' });
  assert.equal(created.status, 201, created.text);
  return name;
}

/** Makes a vector store of the tenant. Returns its id. */
export async function createVectorStore(project: TestProject): Promise<string> {
  const created = await project.post('/v1/vector_stores', {});
  assert.equal(created.status, 200, created.text);
  return created.body.id;
}

export interface FeedEntry {
  readonly type: string;
  readonly smith_id: string | null;
  readonly actor: { readonly kind: string; readonly id: string } | null;
  readonly data: Record<string, unknown>;
}

/** The project's events of a type, oldest first. */
export async function readEvents(project: TestProject, type: string): Promise<FeedEntry[]> {
  const entries: FeedEntry[] = [];
  let cursor = '';
  for (;;) {
    const page = await project.get(`/v1/events?type=${type}&limit=100${cursor}`);
    assert.equal(page.status, 200, page.text);
    entries.push(...page.body.data);
    if (!page.body.has_more) return entries.reverse();
    cursor = `&cursor=${page.body.next_cursor}`;
  }
}
