/** MCP servers that requests bring, by the clients that people use: a call, one that is approved, one that is rejected. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, streamText } from 'ai';
import type OpenAI from 'openai';
import { type FakeMcpServer, startMcpServer } from '../../../../test/fakes/mcp-server.ts';
import { loadAgents } from '../../../../test/support/openai-agents.ts';
import { startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';
import {
  addressOf,
  createResponse,
  nameWay,
  openaiFor,
  questionOf,
  startAgent,
  startAi,
  startLangchain,
  WAYS,
} from '../../../../test/support/response-clients.ts';

const ASK =
  'Call the tool peer__look with {"firstName":"Ada"}, then call the tool peer__echo with {"n":1}, then call the tool peer__echo with {"n":2}';
const MORE = 'Write 3 words';
const TOKEN = 'token-4f1c9a7e55';

const agents = await loadAgents();
const { mcp } = createOpenAI({ apiKey: 'none' }).tools;

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
  platform = await startPlatform();
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
  return {
    ...(await addressOf(platform, project, smithId)),
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

/** As the AI SDK and the SDK for agents spell it. */
function namedTool() {
  return {
    serverLabel: 'peer',
    serverUrl: server.url,
    authorization: TOKEN,
    requireApproval: { never: { toolNames: ['look'] } },
  };
}

const LAST = /"n":1[\s\S]*denied/;

for (const streamed of WAYS) {
  describe(nameWay(streamed), () => {
    test('openai, by the response before', async () => {
      const smith = await makeSmith();
      const openai = openaiFor(smith);
      const types: string[] = [];
      const create = (more: Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming>) =>
        createResponse(openai, streamed, { tools: [mcpTool()], ...more }, types);
      let answer = await create({ input: ASK });
      const [list, call] = answer.output;
      assert.ok(list?.type === 'mcp_list_tools' && call?.type === 'mcp_call', JSON.stringify(answer.output));
      assert.deepEqual(
        list.tools.map(({ name }) => name),
        ['look', 'echo'],
      );
      assert.deepEqual([call.server_label, call.name, call.output], ['peer', 'look', '{"firstName":"Ada"}']);
      for (const approve of [true, false]) {
        const asked = questionOf(answer);
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
      const openai = openaiFor(smith);
      const history: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: ASK }];
      const go = async () => {
        const answer = await createResponse(openai, streamed, { input: history, tools: [mcpTool()], store: false });
        history.push(...(answer.output as OpenAI.Responses.ResponseInputItem[]));
        return answer;
      };
      let answer = await go();
      for (const approve of [true, false]) {
        history.push({ type: 'mcp_approval_response', approval_request_id: questionOf(answer).id, approve });
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
        const ai = startAi(smith, streamed, { store, tools: { mcp: mcp(namedTool()) } });
        const results: unknown[] = [];
        let answer = await ai.say(ASK);
        for (const approved of [true, false]) {
          results.push(...ai.resultsOf(answer));
          answer = await ai.decide(answer, approved);
        }
        assert.partialDeepStrictEqual(results, [
          { output: { serverLabel: 'peer', name: 'look', output: '{"firstName":"Ada"}' } },
          { output: { serverLabel: 'peer', name: 'echo', output: '{"n":1}' } },
        ]);
        assert.match(answer.text, LAST);
        assert.equal((await ai.say(MORE)).text.split(' ').length, 3);
        // The package keeps no list, so that the next turn asks again.
        await smith.assertAsked({ runs: 2, lists: 2 });
      });
    }

    test('ai reads a list that failed', async () => {
      const { token, baseURL } = await makeSmith();
      const model = createOpenAI({ apiKey: token, baseURL }).responses('ironcraft');
      const tools = { mcp: mcp({ serverLabel: 'peer', serverUrl: `${server.url}/none` }) };
      server.intercept = (_request, response) => response.writeHead(401).end() !== undefined;
      try {
        const call = { model, prompt: 'Hi', tools, maxRetries: 0 };
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
      const agent = startAgent(agents, smith, streamed, [agents.hostedMcpTool(namedTool())]);
      let result = await agent.say(ASK);
      for (const decision of ['approve', 'reject'] as const) result = await agent.decide(result, decision);
      assert.match(String(result.finalOutput), LAST);
      const next = await agent.sayMore(result, MORE);
      assert.equal(String(next.finalOutput).split(' ').length, 3);
      await smith.assertAsked({ runs: 2 });
    });

    test('langchain', async () => {
      const smith = await makeSmith();
      const chain = startLangchain(smith, streamed, [mcpTool()]);
      let answer = await chain.say(ASK);
      for (const approve of [true, false]) answer = await chain.decide(answer, approve);
      assert.match(answer.text, LAST);
      await smith.assertAsked();
    });
  });
}
