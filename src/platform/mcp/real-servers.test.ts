/** The reference server of the protocol, over both transports: every tool that it offers. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startEverythingServer } from '../../../test/support/everything-server.ts';
import { startPlatform } from '../../../test/support/platform.ts';

const platform = await startPlatform({ outboundAllow: ['127.0.0.1', 'example.com'] });
after(() => platform.close());

/** Arguments, and what the answer holds. */
const calls: Readonly<Record<string, readonly [args: object, answer: RegExp]>> = {
  echo: [{ message: 'ping' }, /ping/],
  'get-sum': [{ a: 2, b: 3 }, /5/],
  'get-tiny-image': [{}, /"media_type":"image\/png"/],
  'get-annotated-message': [{ messageType: 'error' }, /[Ee]rror/],
  'get-structured-content': [{ location: 'Chicago' }, /"structured_content":\{.*"temperature"/],
  'get-resource-links': [{ count: 2 }, /resource/],
  'get-resource-reference': [{ resourceType: 'Text', resourceId: 1 }, /Resource/],
  'trigger-long-running-operation': [{ duration: 1, steps: 2 }, /completed/],
};

for (const [transport, kind] of [
  ['streamableHttp', 'streamable HTTP'],
  ['sse', 'HTTP with SSE'],
] as const) {
  describe(kind, () => {
    test('lists its tools, and each answers', async () => {
      const server = await startEverythingServer(transport);
      const p = await platform.createProject();
      try {
        await p.put('/v1/tenant/mcp/all', { url: server.url });
        const { body, text } = await p.post('/v1/tenant/mcp/all/refresh');
        assert.equal(body.status, 'ready', text);
        const enabled = body.tools.filter((tool: { enabled: boolean }) => tool.enabled);
        const names: string[] = enabled.map(({ name }: { name: string }) => name);
        assert.deepEqual(
          Object.keys(calls).filter((name) => !names.includes(name)),
          [],
          names.join(),
        );
        const smithId = await p.createSmith();
        for (const [name, [args, expected]] of Object.entries(calls)) {
          const run = await p.post(`/v1/smiths/${smithId}/runs`, {
            input: [{ role: 'user', content: `Call the tool all__${name} with ${JSON.stringify(args)}` }],
          });
          assert.equal(run.body.output?.tool_calls[0]?.status, 'completed', `${name}: ${run.text}`);
          const [event] = (await p.get('/v1/events?type=tool.completed&limit=1')).body.data;
          assert.match(JSON.stringify(event.data.output), expected, name);
        }
      } finally {
        await server.close();
      }
    });
  });
}

test('its question is answered', async () => {
  const server = await startEverythingServer('streamableHttp');
  const p = await platform.createProject();
  try {
    await p.put('/v1/tenant/mcp/all', { url: server.url });
    assert.equal((await p.post('/v1/tenant/mcp/all/refresh')).status, 200);
    const smithId = await p.createSmith();
    const run = await p.post(`/v1/smiths/${smithId}/runs`, {
      input: [{ role: 'user', content: 'Call the tool all__trigger-elicitation-request with {}' }],
    });
    assert.equal(run.body.status, 'paused', run.text);
    const resumed = await p.post(`/v1/smiths/${smithId}/runs/${run.body.id}/submit`, {
      kind: 'approval',
      approval_id: run.body.output.tool_calls[0].approval_id,
      decision: 'approve',
      content: { name: 'Ada Lovelace' },
    });
    assert.equal(resumed.body.status, 'completed', resumed.text);
    const [event] = (await p.get('/v1/events?type=tool.completed&limit=1')).body.data;
    assert.match(JSON.stringify(event.data.output), /Ada Lovelace/);
  } finally {
    await server.close();
  }
});
