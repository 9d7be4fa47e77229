/** Services on loopback that are no model providers: what they say must reach nobody who names their address. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestPlatform } from './platform.ts';

const TENANT = '/v1/tenant/model_keys';
export const SECRET = 'root:x:0:0:of-the-loopback';
export const INPUT = { input: [{ role: 'user', content: 'Hello' }] };

/** A service on loopback that is no model provider, until the end of a test or of the file. */
export async function serve(t: { after(work: () => void): void }, listener: RequestListener, port = 0) {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    listener(request, response);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

export const STRANGERS: readonly [string, RequestListener][] = [
  ['answers 200 with a page', (_request, response) => response.end(`<html>${SECRET}</html>`)],
  ['answers 200 with JSON', (_request, response) => answerJson(response, 200, { secret: SECRET })],
  ['answers 404 with JSON', (_request, response) => answerJson(response, 404, { message: SECRET })],
  ['answers 400 with a text', (_request, response) => response.writeHead(400).end(SECRET)],
  ['says it in the status', (_request, response) => response.writeHead(400, SECRET.replaceAll(':', ' ')).end()],
  ['sends events of its own', (_request, response) => sendEvents(response, `data: ${SECRET}\n\n`)],
  ['sends events of JSON', (_request, response) => sendEvents(response, `data: {"secret":"${SECRET}"}\n\n`)],
];

/** Each reads answers in its own way. */
export const PROVIDERS: readonly string[] = ['openai-compatible', 'openai', 'anthropic', 'google', 'mistral', 'xai'];

/** Where a stranger takes the place of each of these providers: in a run, its stream, an embedding and the events. */
export async function assertNothingQuoted(
  platform: TestPlatform,
  stranger: Awaited<ReturnType<typeof serve>> | undefined,
  providers: readonly string[],
): Promise<void> {
  assert.ok(stranger);
  const project = await platform.createProject();
  for (const provider of providers) {
    await project.put(`${TENANT}/${provider}`, { api_key: 'sk-test-123456', base_url: `${stranger.url}/v1` });
    const smithId = await project.createSmith({ model: `${provider}/x` });
    const run = await project.post(`/v1/smiths/${smithId}/runs`, INPUT);
    const streamed = await project.post(`/v1/smiths/${smithId}/runs`, { ...INPUT, stream: true });
    for (const { text } of [run, streamed]) {
      assert.match(text, /model_request_failed/, provider);
      assert.doesNotMatch(text, /of-the-loopback/, provider);
    }
    const embedded = await project.post('/v1/embeddings', { input: 'x', model: `${provider}/x` });
    assert.doesNotMatch(embedded.text, /of-the-loopback/, provider);
  }
  assert.ok(stranger.seen.length > 0);
  assert.doesNotMatch((await project.get('/v1/events')).text, /of-the-loopback/);
}

function answerJson(response: Parameters<RequestListener>[1], status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function sendEvents(response: Parameters<RequestListener>[1], text: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
}
