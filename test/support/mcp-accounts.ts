/** Smiths whose users connect accounts to an MCP server, step by step. */
import assert from 'node:assert/strict';
import type { OAuthUpstream } from './oauth-upstream.ts';
import type { Answer, TestPlatform, TestProject } from './platform.ts';
import { eventually } from './turns.ts';

/** `publicUrl`: where the platform says that it is. */
export function accountSteps(upstream: OAuthUpstream, platform: TestPlatform, publicUrl: string) {
  /** As `notes`. */
  async function register(p: TestProject, body: object = {}): Promise<void> {
    const { status, text } = await p.put('/v1/tenant/mcp/notes', {
      url: upstream.mcpUrl,
      auth: { kind: 'oauth' },
      ...body,
    });
    assert.ok(status === 200 || status === 201, text);
  }

  /** Opens the link as its user, up to where the browser is sent back to us. */
  async function comeBack(link: string): Promise<Response> {
    return fetch((await upstream.visit(link)).replace(publicUrl, platform.url), { redirect: 'manual' });
  }

  async function arrive(link: string): Promise<void> {
    const answer = await comeBack(link);
    assert.equal(answer.status, 200, await answer.text());
  }

  async function connect(p: TestProject, smithId: string): Promise<void> {
    const { status, body, text } = await p.post(`/v1/smiths/${smithId}/connections/authorize`, {
      provider: 'mcp:notes',
    });
    assert.equal(status, 200, text);
    await arrive(body.authorize_url);
  }

  /** Until the server's tools are known. */
  async function knowTools(p: TestProject): Promise<void> {
    const { status, body, text } = await p.post('/v1/tenant/mcp/notes/refresh');
    assert.deepEqual([status, body.status, body.tools_discovered], [200, 'ready', 1], text);
  }

  async function connectedProject(registration: object = {}): Promise<{ p: TestProject; smithId: string }> {
    const p = await platform.createProject();
    await register(p, registration);
    const smithId = await p.createSmith();
    await connect(p, smithId);
    await knowTools(p);
    return { p, smithId };
  }

  /** As whom the server was called meanwhile. */
  async function callsOf(work: () => Promise<void>): Promise<string[]> {
    const before = upstream.calls.length;
    await work();
    return upstream.calls.slice(before).map(({ account }) => account);
  }

  return { register, comeBack, arrive, connect, knowTools, connectedProject, callsOf };
}

export function whoami(p: TestProject, smithId: string): Promise<Answer> {
  const input = [{ role: 'user', content: 'Call the tool notes__whoami with {}' }];
  return p.post(`/v1/smiths/${smithId}/runs`, { input });
}

/** The run, once it rests otherwise than with this link. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into runs of every shape.
export async function goneOn(p: TestProject, smithId: string, runId: string, link: string): Promise<any> {
  return eventually(async () => {
    const { body } = await p.get(`/v1/smiths/${smithId}/runs/${runId}`);
    const [call] = body.output?.tool_calls ?? [];
    return body.status === 'in_progress' || call?.connection?.authorize_url === link ? undefined : body;
  }, 'the run goes on');
}

/** As if the access tokens of the project had expired. */
export async function expireTokens({ db }: TestPlatform, { projectId }: TestProject): Promise<void> {
  await db.query({ text: 'update connections set expires_at = now() where project_id = $1', values: [projectId] });
}
