/** Tools of a registered MCP server, the protocol's own reference server, by the clients that people use. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { type AIMessageChunk, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, type ModelMessage, streamText } from 'ai';
import OpenAI from 'openai';
import { type EverythingServer, startEverythingServer } from '../../../../test/support/everything-server.ts';
import { startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';

const SUM = 'call the tool everything__get-sum with';
/** One call that needs nobody, one that is approved, and one that is rejected. */
const ASK = `Call the tool everything__echo with {"message":"hi"}, then ${SUM} {"a":2,"b":3}, then ${SUM} {"a":20,"b":30}`;

let server: EverythingServer;
let platform: TestPlatform;
before(async () => {
  server = await startEverythingServer('streamableHttp');
  platform = await startPlatform({ outboundAllow: ['127.0.0.1', 'example.com'] });
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
  const token = await project.smithToken(smithId, ['runs:read', 'runs:write', 'approvals:write']);
  return {
    token,
    baseURL: `${platform.url}/v1`,
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

const isStreamed = [false, true];
const how = (streamed: boolean) => (streamed ? 'streamed' : 'in one piece');
const LAST = /Echo: hi[\s\S]*The sum of 2 and 3 is 5[\s\S]*denied/;

for (const streamed of isStreamed) {
  describe(how(streamed), () => {
    test('openai calls, approves and rejects', async () => {
      const smith = await makeSmith();
      const openai = new OpenAI({ apiKey: smith.token, baseURL: smith.baseURL, maxRetries: 0 });
      const create = (body: OpenAI.Responses.ResponseCreateParamsNonStreaming) =>
        streamed ? openai.responses.stream({ ...body, stream: true }).finalResponse() : openai.responses.create(body);
      const outputs: unknown[] = [];
      let answer = await create({ model: 'ironcraft', input: ASK });
      for (const approve of [true, false]) {
        outputs.push(...answer.output);
        const asked = answer.output.find(({ type }) => type === 'mcp_approval_request');
        assert.ok(asked?.type === 'mcp_approval_request', JSON.stringify(answer.output));
        assert.deepEqual([asked.server_label, asked.name], ['everything', 'get-sum']);
        answer = await create({
          model: 'ironcraft',
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
      const smith = await makeSmith();
      const openai = new OpenAI({ apiKey: smith.token, baseURL: smith.baseURL, maxRetries: 0 });
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
      const provider = createOpenAI({ apiKey: smith.token, baseURL: smith.baseURL });
      const messages: ModelMessage[] = [{ role: 'user', content: ASK }];
      const ask = async () => {
        const call = { model: provider.responses('ironcraft'), messages, maxRetries: 0 };
        const result = streamed ? streamText(call) : await generateText(call);
        const content = await result.content;
        messages.push(...(await result.response).messages);
        return { content, text: await result.text };
      };
      const results: unknown[] = [];
      let answer = await ask();
      for (const approved of [true, false]) {
        results.push(...answer.content.filter(({ type }) => type === 'tool-result'));
        const asked = answer.content.find(({ type }) => type === 'tool-approval-request');
        assert.ok(asked?.type === 'tool-approval-request', JSON.stringify(answer.content));
        const { approvalId } = asked;
        messages.push({
          role: 'tool',
          content: [{ type: 'tool-approval-response', approvalId, approved, providerExecuted: true }],
        });
        answer = await ask();
      }
      results.push(...answer.content.filter(({ type }) => type === 'tool-result'));
      assert.partialDeepStrictEqual(results, [
        { output: { serverLabel: 'everything', name: 'echo', output: 'Echo: hi' } },
        { output: { serverLabel: 'everything', name: 'get-sum', output: 'The sum of 2 and 3 is 5.' } },
      ]);
      assert.match(answer.text, LAST);
      await smith.assertMade();
    });

    test('langchain calls, approves and rejects', async () => {
      const smith = await makeSmith();
      const model = new ChatOpenAI({
        model: 'ironcraft',
        apiKey: smith.token,
        configuration: { baseURL: smith.baseURL },
        maxRetries: 0,
        useResponsesApi: true,
      });
      const ask = async (messages: BaseMessage[], previous?: string) => {
        const options = previous === undefined ? {} : { previous_response_id: previous };
        if (!streamed) return model.invoke(messages, options);
        let whole: AIMessageChunk | undefined;
        for await (const chunk of await model.stream(messages, options)) whole = whole?.concat(chunk) ?? chunk;
        assert.ok(whole);
        return whole;
      };
      const itemsOf = (answer: AIMessageChunk) =>
        (answer.additional_kwargs.tool_outputs ?? []) as { type: string; id: string; output?: string }[];
      let answer = await ask([new HumanMessage(ASK)]);
      const outputs: (string | undefined)[] = [];
      for (const approve of [true, false]) {
        outputs.push(...itemsOf(answer).flatMap(({ type, output }) => (type === 'mcp_call' ? [output] : [])));
        const asked = itemsOf(answer).find(({ type }) => type === 'mcp_approval_request');
        assert.ok(asked, JSON.stringify(answer.additional_kwargs));
        const decision = new HumanMessage({
          content: [{ type: 'mcp_approval_response', approval_request_id: asked.id, approve }] as never,
        });
        answer = await ask([decision], String(answer.response_metadata.id));
      }
      assert.deepEqual(outputs, ['Echo: hi', 'The sum of 2 and 3 is 5.']);
      assert.match(answer.text, LAST);
      await smith.assertMade();
    });
  });
}
