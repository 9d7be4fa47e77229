/** The reference server of the protocol, over both transports: every tool that it offers. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startEverythingServer } from '../../../test/support/everything-server.ts';
import { type Answer, startPlatform, type TestProject } from '../../../test/support/platform.ts';

const platform = await startPlatform({ outboundAllow: ['127.0.0.1', 'example.com'] });
after(() => platform.close());

/** Arguments, what the answer holds, and what a person answers where the tool asks. */
const calls: Readonly<Record<string, readonly [args: object, output: RegExp, content?: object]>> = {
  echo: [{ message: 'ping' }, /ping/],
  'get-annotated-message': [{ messageType: 'error', includeImage: true }, /[Ee]rror.*"media_type":"image\/png"/],
  'get-env': [{}, /NODE_OPTIONS|PORT/],
  'get-resource-links': [{ count: 2 }, /demo:\/\/resource\/dynamic\/\w+\/1.*demo:\/\/resource\/dynamic\/\w+\/2/],
  'get-resource-reference': [{ resourceType: 'Text', resourceId: 1 }, /demo:\/\/resource\/dynamic\/text\/1/],
  'get-structured-content': [{ location: 'Chicago' }, /"structured_content":\{.*"temperature"/],
  'get-sum': [{ a: 2, b: 3 }, /The sum of 2 and 3 is 5/],
  'get-tiny-image': [{}, /"media_type":"image\/png"/],
  'gzip-file-as-resource': [
    { name: 'hello.gz', data: 'data:text/plain,hello', outputType: 'resource' },
    /"media_type":"application\/gzip"/,
  ],
  'toggle-simulated-logging': [{}, /Started simulated/],
  'toggle-subscriber-updates': [{}, /Started simulated resource updated notifications/],
  'trigger-long-running-operation': [{ duration: 0.2, steps: 2 }, /Duration: 0.2 seconds, Steps: 2/],
  'trigger-elicitation-request': [{}, /Name: Ada Lovelace/, { name: 'Ada Lovelace' }],
};

for (const [transport, kind] of [
  ['streamableHttp', 'streamable HTTP'],
  ['sse', 'HTTP with SSE'],
] as const) {
  test(`over ${kind} each tool that is offered answers`, async () => {
    const server = await startEverythingServer(transport);
    const p = await platform.createProject();
    try {
      await p.put('/v1/tenant/mcp/all', { url: server.url });
      const { body, text } = await p.post('/v1/tenant/mcp/all/refresh');
      assert.equal(body.status, 'ready', text);
      const offered = body.tools.filter((tool: { enabled: boolean }) => tool.enabled);
      assert.deepEqual(offered.map(({ name }: { name: string }) => name).sort(), Object.keys(calls).sort());
      // It takes tasks alone, which no client of today has.
      const others = body.tools.filter((tool: { enabled: boolean }) => !tool.enabled);
      assert.deepEqual(
        others.map(({ name }: { name: string }) => name),
        ['simulate-research-query'],
      );
      const smithId = await p.createSmith();
      for (const [name, [args, expected, content]] of Object.entries(calls)) {
        const begun = await p.post(`/v1/smiths/${smithId}/runs`, {
          input: [{ role: 'user', content: `Call the tool all__${name} with ${JSON.stringify(args)}` }],
        });
        const run = content === undefined ? begun : await answerQuestion(p, smithId, begun, content);
        assert.deepEqual(
          [run.body.status, run.body.output?.tool_calls[0]?.status],
          ['completed', 'completed'],
          `${name}: ${run.text}`,
        );
        const [event] = (await p.get('/v1/events?type=tool.completed&limit=1')).body.data;
        assert.equal(event.data.tool_call_id, run.body.output.tool_calls[0].id);
        assert.match(JSON.stringify(event.data.output), expected, name);
      }
    } finally {
      await server.close();
    }
  });
}

async function answerQuestion(
  p: TestProject,
  smithId: string,
  { body, text }: Answer,
  content: object,
): Promise<Answer> {
  assert.equal(body.status, 'paused', text);
  const [{ approval_id }] = body.output.tool_calls;
  assert.ok((await p.get(`/v1/approvals/${approval_id}`)).body.elicitation);
  const answer = { kind: 'approval', approval_id, decision: 'approve', content };
  return p.post(`/v1/smiths/${smithId}/runs/${body.id}/submit`, answer);
}
