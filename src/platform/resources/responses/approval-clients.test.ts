/** Calls that a person decides on, by the clients that people use: this server's own tools, and functions of the caller. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { type AIMessageChunk, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, type ModelMessage, streamText } from 'ai';
import OpenAI from 'openai';
import { loadAgents } from '../../../../test/support/openai-agents.ts';
import { startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';
import { createTestTools } from '../../../../test/support/tools.ts';

const ASK = 'Call the tool guarded with {"n":1}';
const ASK_TWICE = `${ASK}, then call the tool guarded with {"n":2}`;
const MORE = 'Write 3 words';

const { Agent, tool: agentTool, OpenAIResponsesModel, run } = await loadAgents();

const tools = createTestTools();
let platform: TestPlatform;
before(async () => {
  platform = await startPlatform({ toolSources: [tools.source] });
});
after(() => platform.close());

async function makeSmith() {
  const project = await platform.createProject();
  const smithId = await project.createSmith();
  const token = await project.smithToken(smithId, ['runs:read', 'runs:write', 'approvals:write']);
  const listRuns = async (): Promise<{ id: string; status: string }[]> =>
    (await project.get(`/v1/smiths/${smithId}/runs`)).body.data;
  return {
    token,
    baseURL: `${platform.url}/v1`,
    listRuns,
    /** Arguments of the calls that were made, of all runs. */
    async made() {
      return (await listRuns()).flatMap(({ id }) => tools.callsOf(id).map(({ args }) => args));
    },
  };
}
type Smith = Awaited<ReturnType<typeof makeSmith>>;

const isStreamed = [false, true];
const how = (streamed: boolean) => (streamed ? 'streamed' : 'in one piece');

describe('openai', () => {
  for (const streamed of isStreamed) {
    test(`approves and rejects, ${how(streamed)}`, async () => {
      const smith = await makeSmith();
      const openai = new OpenAI({ apiKey: smith.token, baseURL: smith.baseURL, maxRetries: 0 });
      const create = async (body: OpenAI.Responses.ResponseCreateParamsNonStreaming) =>
        streamed
          ? await openai.responses.stream({ ...body, stream: true }).finalResponse()
          : await openai.responses.create(body);
      const request = ({ output }: OpenAI.Responses.Response) => {
        const item = output.find(({ type }) => type === 'mcp_approval_request');
        assert.ok(item?.type === 'mcp_approval_request', JSON.stringify(output));
        return item;
      };
      const first = await create({ model: 'ironcraft', input: ASK_TWICE });
      assert.deepEqual([request(first).name, request(first).arguments], ['guarded', '{"n":1}']);
      const second = await create({
        model: 'ironcraft',
        previous_response_id: first.id,
        input: [{ type: 'mcp_approval_response', approval_request_id: request(first).id, approve: true }],
      });
      assert.deepEqual(await smith.made(), [{ n: 1 }]);
      const last = await create({
        model: 'ironcraft',
        previous_response_id: second.id,
        input: [
          { type: 'mcp_approval_response', approval_request_id: request(second).id, approve: false, reason: 'Enough.' },
        ],
      });
      assert.match(last.output_text, /returned: \{"echoed":\{"n":1\}\}[\s\S]*denied: .*Enough/);
      assert.deepEqual([(await smith.made()).length, (await smith.listRuns()).length], [1, 1]);
    });

    test(`sends the whole history, ${how(streamed)}: decisions that were made before are past`, async () => {
      const smith = await makeSmith();
      const openai = new OpenAI({ apiKey: smith.token, baseURL: smith.baseURL, maxRetries: 0 });
      const history: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: ASK_TWICE }];
      const go = async () => {
        const body = { model: 'ironcraft', input: history, store: false };
        const { output, output_text } = streamed
          ? await openai.responses.stream({ ...body, stream: true }).finalResponse()
          : await openai.responses.create(body);
        history.push(...(output as OpenAI.Responses.ResponseInputItem[]));
        const asked = output.find(({ type }) => type === 'mcp_approval_request');
        return { asked: asked?.id ?? '', text: output_text };
      };
      for (const approve of [true, true]) {
        const { asked } = await go();
        assert.notEqual(asked, '');
        history.push({ type: 'mcp_approval_response', approval_request_id: asked, approve });
        // As the SDK for agents keeps them.
        history.push({ type: 'mcp_call', id: 'mcp_1', name: 'guarded', arguments: '{}', server_label: 'x' });
        history.push({ type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'x', tools: [] });
      }
      const { text } = await go();
      assert.match(text, /"n":1[\s\S]*"n":2/);
      history.push({ role: 'user', content: MORE });
      assert.equal((await go()).text.split(' ').length, 3);
      assert.deepEqual(await smith.made(), [{ n: 1 }, { n: 2 }]);
      assert.equal((await smith.listRuns()).length, 2);
    });
  }

  for (const streamed of isStreamed) {
    test(`sees calls of an MCP server, and asks under its name, ${how(streamed)}`, async () => {
      const smith = await makeSmith();
      const openai = new OpenAI({ apiKey: smith.token, baseURL: smith.baseURL, maxRetries: 0 });
      const types: string[] = [];
      const create = async (body: OpenAI.Responses.ResponseCreateParamsNonStreaming) => {
        if (!streamed) return openai.responses.create(body);
        const stream = openai.responses.stream({ ...body, stream: true });
        stream.on('event', ({ type }) => types.push(type));
        return stream.finalResponse();
      };
      const input =
        'Call the tool crm__find with {"n":1}, then call the tool crm__fail with {}, then call the tool crm__change with {"n":2}';
      const first = await create({ model: 'ironcraft', input });
      const [found, failed, asked] = first.output;
      const own = { type: 'mcp_call', server_label: 'crm' };
      assert.partialDeepStrictEqual(found, {
        ...own,
        status: 'completed',
        name: 'find',
        arguments: '{"n":1}',
        output: '{"echoed":{"n":1}}',
      });
      assert.partialDeepStrictEqual(failed, { ...own, status: 'failed', name: 'fail', error: 'Nothing there.' });
      assert.ok(asked?.type === 'mcp_approval_request');
      assert.deepEqual([asked.server_label, asked.name, asked.arguments], ['crm', 'change', '{"n":2}']);
      const last = await create({
        model: 'ironcraft',
        previous_response_id: first.id,
        input: [{ type: 'mcp_approval_response', approval_request_id: asked.id, approve: true }],
      });
      assert.partialDeepStrictEqual(last.output[0], {
        ...own,
        name: 'change',
        approval_request_id: asked.id,
        output: '{"echoed":{"n":2}}',
      });
      assert.deepEqual((await openai.responses.retrieve(last.id)).output[0], last.output[0]);
      if (!streamed) return;
      for (const kind of ['mcp_call.in_progress', 'mcp_call_arguments.done', 'mcp_call.completed', 'mcp_call.failed']) {
        assert.ok(types.includes(`response.${kind}`), kind);
      }
    });
  }

  test('answers a question with what a person entered', async () => {
    const smith = await makeSmith();
    const openai = new OpenAI({ apiKey: smith.token, baseURL: smith.baseURL, maxRetries: 0 });
    const first = await openai.responses.create({ model: 'ironcraft', input: 'Call the tool ask with {}' });
    const [asked] = first.output as unknown as { id: string; type: string; elicitation: Record<string, unknown> }[];
    assert.deepEqual([asked?.type, asked?.elicitation.message], ['mcp_approval_request', 'Name 1?']);
    assert.deepEqual(Object.keys(asked?.elicitation ?? {}), ['message', 'requested_schema']);
    const answer = (content: unknown) =>
      openai.responses.create({
        model: 'ironcraft',
        previous_response_id: first.id,
        input: [{ type: 'mcp_approval_response', approval_request_id: asked?.id, approve: true, content } as never],
      });
    await assert.rejects(answer('Ada'), { code: 'invalid_input', param: 'input.0.content' });
    await assert.rejects(answer({ name: 7 }), { code: 'invalid_input' });
    const last = await answer({ name: 'Ada' });
    assert.match(last.output_text, /Ada/);
  });

  test('a decision that was made before and that nothing follows is refused, and no turn begins', async () => {
    const smith = await makeSmith();
    const openai = new OpenAI({ apiKey: smith.token, baseURL: smith.baseURL, maxRetries: 0 });
    const first = await openai.responses.create({ model: 'ironcraft', input: ASK });
    const id = first.output[0]?.id ?? '';
    const decision = { type: 'mcp_approval_response' as const, approval_request_id: id, approve: true };
    const input = [{ role: 'user' as const, content: ASK }, decision];
    await openai.responses.create({ model: 'ironcraft', input });
    await assert.rejects(openai.responses.create({ model: 'ironcraft', input }), { code: 'invalid_input' });
    const foreign = await makeSmith();
    const other = new OpenAI({ apiKey: foreign.token, baseURL: foreign.baseURL, maxRetries: 0 });
    const more = [...input, { role: 'user' as const, content: MORE }];
    await assert.rejects(other.responses.create({ model: 'ironcraft', input: more }), { code: 'invalid_input' });
    assert.equal((await smith.listRuns()).length, 1);
    assert.equal((await smith.made()).length, 1);
  });
});

describe('ai', () => {
  /** One call of the model, and what it adds to the conversation. */
  async function ask(smith: Smith, messages: ModelMessage[], options: { streamed: boolean; store: boolean }) {
    const provider = createOpenAI({ apiKey: smith.token, baseURL: smith.baseURL });
    const call = {
      model: provider.responses('ironcraft'),
      messages,
      maxRetries: 0,
      providerOptions: { openai: { store: options.store } },
    };
    const result = options.streamed ? streamText(call) : await generateText(call);
    const content = await result.content;
    messages.push(...(await result.response).messages);
    const asked = content.flatMap((part) => (part.type === 'tool-approval-request' ? [part.approvalId] : []));
    return { asked, text: await result.text };
  }

  for (const streamed of isStreamed) {
    for (const store of [true, false]) {
      test(`approves, rejects and goes on, ${how(streamed)}, ${store ? 'by reference' : 'nothing stored'}`, async () => {
        const smith = await makeSmith();
        const messages: ModelMessage[] = [{ role: 'user', content: ASK_TWICE }];
        for (const approved of [true, false]) {
          const { asked } = await ask(smith, messages, { streamed, store });
          assert.equal(asked.length, 1);
          const content = asked.map((approvalId) => ({
            type: 'tool-approval-response' as const,
            approvalId,
            approved,
            providerExecuted: true,
          }));
          messages.push({ role: 'tool', content });
        }
        const { text } = await ask(smith, messages, { streamed, store });
        assert.match(text, /returned: \{"echoed":\{"n":1\}\}[\s\S]*denied/);
        messages.push({ role: 'user', content: MORE });
        assert.equal((await ask(smith, messages, { streamed, store })).text.split(' ').length, 3);
        assert.deepEqual(await smith.made(), [{ n: 1 }]);
        assert.equal((await smith.listRuns()).length, 2);
      });
    }
  }
});

describe('ai, of an MCP server', () => {
  for (const streamed of isStreamed) {
    test(`approves a call, and reads what it gave, ${how(streamed)}`, async () => {
      const smith = await makeSmith();
      const provider = createOpenAI({ apiKey: smith.token, baseURL: smith.baseURL });
      const messages: ModelMessage[] = [
        { role: 'user', content: 'Call the tool crm__find with {}, then call the tool crm__change with {"n":2}' },
      ];
      const ask = async () => {
        const call = { model: provider.responses('ironcraft'), messages, maxRetries: 0 };
        const result = streamed ? streamText(call) : await generateText(call);
        const content = await result.content;
        messages.push(...(await result.response).messages);
        return content;
      };
      const first = await ask();
      const asked = first.find(({ type }) => type === 'tool-approval-request');
      assert.ok(asked?.type === 'tool-approval-request', JSON.stringify(first));
      messages.push({
        role: 'tool',
        content: [
          { type: 'tool-approval-response', approvalId: asked.approvalId, approved: true, providerExecuted: true },
        ],
      });
      const second = await ask();
      const result = second.find(({ type }) => type === 'tool-result');
      assert.ok(result?.type === 'tool-result', JSON.stringify(second));
      assert.partialDeepStrictEqual(result.output, { serverLabel: 'crm', name: 'change' });
      messages.push({ role: 'user', content: MORE });
      assert.ok((await ask()).some(({ type }) => type === 'text'));
    });
  }
});

describe('@openai/agents', () => {
  for (const streamed of isStreamed) {
    test(`calls functions, of which a person approves one and rejects another, ${how(streamed)}`, async () => {
      const smith = await makeSmith();
      const client = new OpenAI({ apiKey: smith.token, baseURL: smith.baseURL, maxRetries: 0 });
      const made: unknown[] = [];
      const agent = new Agent({
        name: 'Buyer',
        model: new OpenAIResponsesModel(client, 'ironcraft'),
        tools: [
          agentTool({
            name: 'buy',
            description: 'Buys.',
            parameters: {
              type: 'object',
              properties: { n: { type: 'number' } },
              required: ['n'],
              additionalProperties: true,
            },
            strict: false,
            needsApproval: true,
            execute: async (input) => {
              made.push(input);
              return `bought ${JSON.stringify(input)}`;
            },
          }),
        ],
      });
      const go = async (input: Parameters<typeof run>[1]) => {
        if (!streamed) return run(agent, input as string);
        const result = await run(agent, input as string, { stream: true });
        await result.completed;
        return result;
      };
      let result = await go('Call the tool buy with {"n":1}, then call the tool buy with {"n":2}');
      for (const decide of ['approve', 'reject'] as const) {
        const [asked] = result.interruptions ?? [];
        assert.ok(asked);
        result.state[decide](asked);
        result = await go(result.state as never);
      }
      assert.match(String(result.finalOutput), /bought \{"n":1\}/);
      assert.deepEqual(made, [{ n: 1 }]);
      // The whole history again, with one message more.
      const next = await go([...result.history, { role: 'user', content: MORE }] as never);
      assert.equal(String(next.finalOutput).split(' ').length, 3);
    });
  }
});

describe('langchain', () => {
  for (const streamed of isStreamed) {
    test(`approves and rejects, ${how(streamed)}`, async () => {
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
      let answer = await ask([new HumanMessage(ASK_TWICE)]);
      for (const approve of [true, false]) {
        const outputs = answer.additional_kwargs.tool_outputs as { type: string; id: string }[] | undefined;
        const asked = outputs?.find(({ type }) => type === 'mcp_approval_request');
        assert.ok(asked, JSON.stringify(answer.additional_kwargs));
        const decision = new HumanMessage({
          content: [{ type: 'mcp_approval_response', approval_request_id: asked.id, approve }] as never,
        });
        answer = await ask([decision], String(answer.response_metadata.id));
      }
      assert.match(answer.text, /returned: \{"echoed":\{"n":1\}\}[\s\S]*denied/);
      assert.deepEqual(await smith.made(), [{ n: 1 }]);
      assert.equal((await smith.listRuns()).length, 1);
    });
  }
});
