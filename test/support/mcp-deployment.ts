/** MCP deployments, and messages to them as they stand on the wire. */
import assert from 'node:assert/strict';
import type { Answer, Client, Headers_, TestProject } from './platform.ts';

const LEGACY = '2025-11-25';
const MODERN = '2026-07-28';
const BOTH_TYPES = 'application/json, text/event-stream';

export interface McpDeployment {
  readonly id: string;
  readonly path: string;
}

export async function publishMcp(
  project: Pick<TestProject, 'post'>,
  target: { readonly type: 'smith' | 'agent'; readonly id: string },
): Promise<McpDeployment> {
  const made = await project.post('/v1/deployments', { target, kind: 'mcp' });
  assert.equal(made.status, 201, made.text);
  return { id: made.body.id, path: `/v1/deployments/${made.body.id}/mcp` };
}

/** A published agent of the built-in model. */
export async function publishAgent(project: Pick<TestProject, 'post'>): Promise<string> {
  const agent = await project.post('/v1/agents', { name: 'Helper', model: 'builtin/demo' });
  const version = await project.post(`/v1/agents/${agent.body.id}/versions`, {});
  assert.equal(version.status, 201, version.text);
  return agent.body.id;
}

/** The JSON-RPC message that answers; the answer itself where there is none. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape.
export function messageOf({ body, text }: Answer): any {
  if (body !== undefined) return body;
  const events = [...text.matchAll(/^data: (.+)$/gm)].map(([, data = '']) => JSON.parse(data));
  return events.at(-1);
}

/** A message of 2025-11-25. Without an id: a notification. */
export function sendLegacy(
  client: Pick<Client, 'post'>,
  path: string,
  message: { readonly method: string; readonly params?: object; readonly id?: number | string },
  headers: Headers_ = {},
): Promise<Answer> {
  const sent = { jsonrpc: '2.0', ...message };
  return client.post(path, sent, { accept: BOTH_TYPES, 'mcp-protocol-version': LEGACY, ...headers });
}

/** The id of a new session. */
export async function initialize(client: Pick<Client, 'post'>, path: string, headers: Headers_ = {}): Promise<string> {
  const params = { protocolVersion: LEGACY, capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  const answer = await sendLegacy(client, path, { id: 0, method: 'initialize', params }, headers);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(messageOf(answer).result.protocolVersion, LEGACY, answer.text);
  const session = answer.headers.get('mcp-session-id');
  assert.ok(session, 'the server gives a session');
  return session;
}

/** What a call of `ask` is sent as. */
export function askMessage(id: number | string, message: string, more: object = {}) {
  return { id, method: 'tools/call', params: { name: 'ask', arguments: { message }, ...more } };
}

const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A call of a tool in 2026-07-28, whose stream can be closed. */
export function openModernCall(
  client: Pick<Client, 'open'>,
  path: string,
  call: { readonly name: string; readonly arguments: object; readonly progressToken?: string },
  signal?: AbortSignal,
): Promise<Response> {
  const { progressToken, ...params } = call;
  const meta = progressToken === undefined ? ENVELOPE : { ...ENVELOPE, progressToken };
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...params, _meta: meta } };
  const headers = {
    accept: BOTH_TYPES,
    'mcp-protocol-version': MODERN,
    'mcp-method': 'tools/call',
    'mcp-name': call.name,
  };
  return client.open('POST', path, message, headers, signal);
}
