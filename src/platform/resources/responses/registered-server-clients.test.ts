/** Tools of a registered MCP server, the protocol's own reference server, by the clients that people use. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type EverythingServer, startEverythingServer } from '../../../../test/support/everything-server.ts';
import { startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';
import {
  addressOf,
  createResponse,
  nameWay,
  openaiFor,
  questionOf,
  startAi,
  startLangchain,
  WAYS,
} from '../../../../test/support/response-clients.ts';

const SUM = 'call the tool everything__get-sum with';
/** One call that needs nobody, one that is approved, and one that is rejected. */
const ASK = `Call the tool everything__echo with {"message":"hi"}, then ${SUM} {"a":2,"b":3}, then ${SUM} {"a":20,"b":30}`;

let server: EverythingServer;
let platform: TestPlatform;
before(async () => {
  server = await startEverythingServer('streamableHttp');
  platform = await startPlatform();
});
after(async () => {
  await platform.close();
  await server.close();
});

async function makeSmith() {
  const project = await platform.createProject();
  await project.put('/v1/tenant/mcp/everything', { url: server.url, approval_policy: [{ match: 'get-*' }] });
  const refreshed = await project.post('/v1/tenant/mcp/everything/refresh');
  assert.equal(refreshed.body.status, 'ready', refreshed.text);
  const smithId = await project.createSmith();
  return {
    ...(await addressOf(platform, project, smithId)),
    /** The turn is one, and made these calls: the rejected one is not among them. */
    async assertMade() {
      const runs = (await project.get(`/v1/smiths/${smithId}/runs`)).body.data;
      assert.deepEqual([runs.length, runs[0]?.status], [1, 'completed']);
      const { data } = (await project.get('/v1/events?type=tool.executing')).body;
      assert.deepEqual(
        data.map(({ data: { tool, args } }: { data: { tool: string; args: object } }) => [tool, args]).reverse(),
        [
          ['everything__echo', { message: 'hi' }],
          ['everything__get-sum', { a: 2, b: 3 }],
        ],
      );
    },
  };
}

const LAST = /Echo: hi[\s\S]*The sum of 2 and 3 is 5[\s\S]*denied/;

for (const streamed of WAYS) {
  describe(nameWay(streamed), () => {
    test('openai calls, approves and rejects', async () => {
      const smith = await makeSmith();
      const openai = openaiFor(smith);
      const outputs: unknown[] = [];
      let answer = await createResponse(openai, streamed, { input: ASK });
      for (const approve of [true, false]) {
        outputs.push(...answer.output);
        const asked = questionOf(answer);
        assert.deepEqual([asked.server_label, asked.name], ['everything', 'get-sum']);
        answer = await createResponse(openai, streamed, {
          previous_response_id: answer.id,
          input: [{ type: 'mcp_approval_response', approval_request_id: asked.id, approve }],
        });
      }
      outputs.push(...answer.output);
      const calls = outputs.filter((item) => (item as { type: string }).type === 'mcp_call');
      assert.partialDeepStrictEqual(calls, [
        { server_label: 'everything', name: 'echo', status: 'completed', output: 'Echo: hi' },
        { server_label: 'everything', name: 'get-sum', status: 'completed', output: 'The sum of 2 and 3 is 5.' },
      ]);
      assert.match(answer.output_text, LAST);
      await smith.assertMade();
    });

    test('openai calls in a chat completion', async () => {
      const openai = openaiFor(await makeSmith());
      const body = {
        model: 'ironcraft',
        messages: [{ role: 'user' as const, content: 'Call the tool everything__echo with {"message":"chat"}' }],
      };
      const completion = streamed
        ? await openai.chat.completions.stream(body).finalChatCompletion()
        : await openai.chat.completions.create(body);
      const [choice] = completion.choices;
      assert.deepEqual([choice?.finish_reason, choice?.message.tool_calls ?? []], ['stop', []]);
      assert.match(choice?.message.content ?? '', /Echo: chat/);
    });

    test('ai calls, approves and rejects', async () => {
      const smith = await makeSmith();
      const ai = startAi(smith, streamed);
      const results: unknown[] = [];
      let answer = await ai.say(ASK);
      for (const approved of [true, false]) {
        results.push(...ai.resultsOf(answer));
        answer = await ai.decide(answer, approved);
      }
      results.push(...ai.resultsOf(answer));
      assert.partialDeepStrictEqual(results, [
        { output: { serverLabel: 'everything', name: 'echo', output: 'Echo: hi' } },
        { output: { serverLabel: 'everything', name: 'get-sum', output: 'The sum of 2 and 3 is 5.' } },
      ]);
      assert.match(answer.text, LAST);
      await smith.assertMade();
    });

    test('langchain calls, approves and rejects', async () => {
      const smith = await makeSmith();
      const chain = startLangchain(smith, streamed);
      const outputs: (string | undefined)[] = [];
      let answer = await chain.say(ASK);
      for (const approve of [true, false]) {
        outputs.push(...chain.itemsOf(answer).flatMap(({ type, output }) => (type === 'mcp_call' ? [output] : [])));
        answer = await chain.decide(answer, approve);
      }
      assert.deepEqual(outputs, ['Echo: hi', 'The sum of 2 and 3 is 5.']);
      assert.match(answer.text, LAST);
      await smith.assertMade();
    });
  });
}
