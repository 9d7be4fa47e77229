/** MCP servers that requests bring, by the clients that people use: a call, one that is approved, one that is rejected. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { type AIMessageChunk, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, type ModelMessage, streamText } from 'ai';
import OpenAI from 'openai';
import { type FakeMcpServer, startMcpServer } from '../../../../test/fakes/mcp-server.ts';
import { loadAgents } from '../../../../test/support/openai-agents.ts';
import { startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';

const ASK =
  'Call the tool peer__look with {"firstName":"Ada"}, then call the tool peer__echo with {"n":1}, then call the tool peer__echo with {"n":2}';
const MORE = 'Write 3 words';
const TOKEN = 'token-4f1c9a7e55';

const { Agent, hostedMcpTool, OpenAIResponsesModel, run } = await loadAgents();

let server: FakeMcpServer;
let platform: TestPlatform;
before(async () => {
  server = await startMcpServer([
    {
      name: 'look',
      annotations: { readOnlyHint: true },
      inputSchema: { type: 'object', properties: { firstName: { type: 'string' } } },
    },
    { name: 'echo', description: 'Gives back what it is given.' },
  ]);
  platform = await startPlatform({ outboundAllow: ['127.0.0.1', 'example.com'] });
});
beforeEach(() => {
  server.received.length = 0;
});
after(async () => {
  await platform.close();
  await server.close();
});

async function makeSmith() {
  const project = await platform.createProject();
  const smithId = await project.createSmith();
  const token = await project.smithToken(smithId, ['runs:read', 'runs:write', 'approvals:write']);
  return {
    token,
    baseURL: `${platform.url}/v1`,
    /** What the server was asked: the rejected call is not among it, and who calls is known each time. */
    async assertAsked({ runs = 1, lists = 1 } = {}) {
      assert.equal((await project.get(`/v1/smiths/${smithId}/runs`)).body.data.length, runs);
      assert.deepEqual(
        server.calls().map(({ params: { name, arguments: args } }) => [name, args]),
        [
          ['look', { firstName: 'Ada' }],
          ['echo', { n: 1 }],
        ],
      );
      assert.equal(server.received.filter(({ method }) => method === 'tools/list').length, lists);
      for (const { headers } of server.received) assert.equal(headers.authorization, `Bearer ${TOKEN}`);
    },
  };
}

const ASKS_FOR_ECHO = { never: { tool_names: ['look'] } };

function mcpTool(): OpenAI.Responses.Tool.Mcp {
  return {
    type: 'mcp',
    server_label: 'peer',
    server_url: server.url,
    authorization: TOKEN,
    require_approval: ASKS_FOR_ECHO,
  };
}

const LAST = /"n":1[\s\S]*denied/;

for (const streamed of [false, true]) {
  describe(streamed ? 'streamed' : 'in one piece', () => {
    test('openai, by the response before', async () => {
      const smith = await makeSmith();
      const openai = new OpenAI({ apiKey: smith.token, baseURL: smith.baseURL, maxRetries: 0 });
      const types: string[] = [];
      const create = async (more: Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming>) => {
        const body = { model: 'ironcraft', tools: [mcpTool()], ...more };
        if (!streamed) return openai.responses.create(body);
        const stream = openai.responses.stream({ ...body, stream: true });
        stream.on('event', ({ type }) => types.push(type));
        return stream.finalResponse();
      };
      let answer = await create({ input: ASK });
      const [list, call] = answer.output;
      assert.ok(list?.type === 'mcp_list_tools' && call?.type === 'mcp_call', JSON.stringify(answer.output));
      assert.deepEqual(
        list.tools.map(({ name }) => name),
        ['look', 'echo'],
      );
      assert.deepEqual([call.server_label, call.name, call.output], ['peer', 'look', '{"firstName":"Ada"}']);
      for (const approve of [true, false]) {
        const asked = answer.output.find(({ type }) => type === 'mcp_approval_request');
        assert.ok(asked?.type === 'mcp_approval_request', JSON.stringify(answer.output));
        assert.deepEqual([asked.server_label, asked.name], ['peer', 'echo']);
        const decision = { type: 'mcp_approval_response' as const, approval_request_id: asked.id, approve };
        answer = await create({ previous_response_id: answer.id, input: [decision] });
      }
      assert.match(answer.output_text, LAST);
      const next = await create({ previous_response_id: answer.id, input: MORE });
      assert.equal(next.output_text.split(' ').length, 3);
      await smith.assertAsked({ runs: 2 });
      const [shown] = (await openai.responses.retrieve(answer.id)).tools;
      assert.ok(shown?.type === 'mcp');
      assert.deepEqual([shown.headers, shown.authorization, shown.server_label], [null, undefined, 'peer']);
      if (!streamed) return;
      for (const type of ['mcp_list_tools.in_progress', 'mcp_list_tools.completed', 'mcp_call.completed']) {
        assert.ok(types.includes(`response.${type}`), types.join());
      }
    });

    test('openai, by the whole history, nothing stored', async () => {
      const smith = await makeSmith();
      const openai = new OpenAI({ apiKey: smith.token, baseURL: smith.baseURL, maxRetries: 0 });
      const history: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: ASK }];
      const go = async () => {
        const body = { model: 'ironcraft', input: history, tools: [mcpTool()], store: false };
        const answer = streamed
          ? await openai.responses.stream({ ...body, stream: true }).finalResponse()
          : await openai.responses.create(body);
        history.push(...(answer.output as OpenAI.Responses.ResponseInputItem[]));
        return answer;
      };
      let answer = await go();
      for (const approve of [true, false]) {
        const asked = answer.output.find(({ type }) => type === 'mcp_approval_request');
        assert.ok(asked?.type === 'mcp_approval_request');
        history.push({ type: 'mcp_approval_response', approval_request_id: asked.id, approve });
        answer = await go();
      }
      assert.match(answer.output_text, LAST);
      history.push({ role: 'user', content: MORE });
      answer = await go();
      assert.equal(answer.output_text.split(' ').length, 3);
      assert.deepEqual(
        answer.output.map(({ type }) => type),
        ['message'],
      );
      await smith.assertAsked({ runs: 2 });
    });

    for (const store of [true, false]) {
      test(`ai, ${store ? 'by reference' : 'nothing stored'}`, async () => {
        const smith = await makeSmith();
        const provider = createOpenAI({ apiKey: smith.token, baseURL: smith.baseURL });
        const tools = {
          mcp: provider.tools.mcp({
            serverLabel: 'peer',
            serverUrl: server.url,
            authorization: TOKEN,
            requireApproval: { never: { toolNames: ['look'] } },
          }),
        };
        const messages: ModelMessage[] = [{ role: 'user', content: ASK }];
        const ask = async () => {
          const providerOptions = { openai: { store } };
          const call = { model: provider.responses('ironcraft'), messages, tools, maxRetries: 0, providerOptions };
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
        assert.partialDeepStrictEqual(results, [
          { output: { serverLabel: 'peer', name: 'look', output: '{"firstName":"Ada"}' } },
          { output: { serverLabel: 'peer', name: 'echo', output: '{"n":1}' } },
        ]);
        assert.match(answer.text, LAST);
        messages.push({ role: 'user', content: MORE });
        assert.equal((await ask()).text.split(' ').length, 3);
        // The package keeps no list, so that the next turn asks again.
        await smith.assertAsked({ runs: 2, lists: 2 });
      });
    }

    test('ai reads a list that failed', async () => {
      const smith = await makeSmith();
      const provider = createOpenAI({ apiKey: smith.token, baseURL: smith.baseURL });
      const tools = { mcp: provider.tools.mcp({ serverLabel: 'peer', serverUrl: `${server.url}/none` }) };
      server.intercept = (_request, response) => response.writeHead(401).end() !== undefined;
      try {
        const call = { model: provider.responses('ironcraft'), prompt: 'Hi', tools, maxRetries: 0 };
        if (!streamed) {
          await assert.rejects(generateText(call), /peer could not be listed/);
        } else {
          const errors: unknown[] = [];
          const result = streamText({ ...call, onError: ({ error }) => void errors.push(error) });
          for await (const part of result.fullStream) if (part.type === 'error') errors.push(part.error);
          assert.match(JSON.stringify(errors), /peer could not be listed/);
        }
      } finally {
        server.intercept = undefined;
      }
    });

    test('@openai/agents', async () => {
      const smith = await makeSmith();
      const client = new OpenAI({ apiKey: smith.token, baseURL: smith.baseURL, maxRetries: 0 });
      const agent = new Agent({
        name: 'Caller',
        model: new OpenAIResponsesModel(client, 'ironcraft'),
        tools: [
          hostedMcpTool({
            serverLabel: 'peer',
            serverUrl: server.url,
            authorization: TOKEN,
            requireApproval: { never: { toolNames: ['look'] } },
          }),
        ],
      });
      const go = async (input: Parameters<typeof run>[1]) => {
        if (!streamed) return run(agent, input as string);
        const result = await run(agent, input as string, { stream: true });
        await result.completed;
        return result;
      };
      let result = await go(ASK);
      for (const decide of ['approve', 'reject'] as const) {
        const [asked] = result.interruptions ?? [];
        assert.ok(asked, JSON.stringify(result.output));
        result.state[decide](asked);
        result = await go(result.state as never);
      }
      assert.match(String(result.finalOutput), LAST);
      // The whole history again, with one message more.
      const next = await go([...result.history, { role: 'user', content: MORE }] as never);
      assert.equal(String(next.finalOutput).split(' ').length, 3);
      await smith.assertAsked({ runs: 2 });
    });

    test('langchain', async () => {
      const smith = await makeSmith();
      const model = new ChatOpenAI({
        model: 'ironcraft',
        apiKey: smith.token,
        configuration: { baseURL: smith.baseURL },
        maxRetries: 0,
        useResponsesApi: true,
      }).bindTools([mcpTool()]);
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
      for (const approve of [true, false]) {
        const asked = itemsOf(answer).find(({ type }) => type === 'mcp_approval_request');
        assert.ok(asked, JSON.stringify(answer.additional_kwargs));
        const decision = new HumanMessage({
          content: [{ type: 'mcp_approval_response', approval_request_id: asked.id, approve }] as never,
        });
        answer = await ask([decision], String(answer.response_metadata.id));
      }
      assert.match(answer.text, LAST);
      await smith.assertAsked();
    });
  });
}
