/** Calls that a person decides on, by the clients that people use: this server's own tools, and functions of the caller. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type OpenAI from 'openai';
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
import { createTestTools } from '../../../../test/support/tools.ts';

const ASK = 'Call the tool guarded with {"n":1}';
const ASK_TWICE = `${ASK}, then call the tool guarded with {"n":2}`;
const MORE = 'Write 3 words';

const agents = await loadAgents();

const tools = createTestTools();
let platform: TestPlatform;
before(async () => {
  platform = await startPlatform({ toolSources: [tools.source] });
});
after(() => platform.close());

async function makeSmith() {
  const project = await platform.createProject();
  const smithId = await project.createSmith();
  const listRuns = async (): Promise<{ id: string; status: string }[]> =>
    (await project.get(`/v1/smiths/${smithId}/runs`)).body.data;
  return {
    ...(await addressOf(platform, project, smithId)),
    listRuns,
    /** Arguments of the calls that were made, of all runs. */
    async made() {
      return (await listRuns()).flatMap(({ id }) => tools.callsOf(id).map(({ args }) => args));
    },
  };
}
describe('openai', () => {
  for (const streamed of WAYS) {
    test(`approves and rejects, ${nameWay(streamed)}`, async () => {
      const smith = await makeSmith();
      const openai = openaiFor(smith);
      const first = await createResponse(openai, streamed, { input: ASK_TWICE });
      assert.deepEqual([questionOf(first).name, questionOf(first).arguments], ['guarded', '{"n":1}']);
      const second = await createResponse(openai, streamed, {
        previous_response_id: first.id,
        input: [{ type: 'mcp_approval_response', approval_request_id: questionOf(first).id, approve: true }],
      });
      assert.deepEqual(await smith.made(), [{ n: 1 }]);
      const { id } = questionOf(second);
      const last = await createResponse(openai, streamed, {
        previous_response_id: second.id,
        input: [{ type: 'mcp_approval_response', approval_request_id: id, approve: false, reason: 'Enough.' }],
      });
      assert.match(last.output_text, /returned: \{"echoed":\{"n":1\}\}[\s\S]*denied: .*Enough/);
      assert.deepEqual([(await smith.made()).length, (await smith.listRuns()).length], [1, 1]);
    });

    test(`sends the whole history, ${nameWay(streamed)}: decisions that were made before are past`, async () => {
      const smith = await makeSmith();
      const openai = openaiFor(smith);
      const history: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: ASK_TWICE }];
      const go = async () => {
        const answer = await createResponse(openai, streamed, { input: history, store: false });
        history.push(...(answer.output as OpenAI.Responses.ResponseInputItem[]));
        return answer;
      };
      for (const approve of [true, true]) {
        const asked = questionOf(await go());
        history.push({ type: 'mcp_approval_response', approval_request_id: asked.id, approve });
        // As the SDK for agents keeps them.
        history.push({ type: 'mcp_call', id: 'mcp_1', name: 'guarded', arguments: '{}', server_label: 'x' });
        history.push({ type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'x', tools: [] });
      }
      assert.match((await go()).output_text, /"n":1[\s\S]*"n":2/);
      history.push({ role: 'user', content: MORE });
      assert.equal((await go()).output_text.split(' ').length, 3);
      assert.deepEqual(await smith.made(), [{ n: 1 }, { n: 2 }]);
      assert.equal((await smith.listRuns()).length, 2);
    });

    test(`sees calls of an MCP server, and asks under its name, ${nameWay(streamed)}`, async () => {
      const smith = await makeSmith();
      const openai = openaiFor(smith);
      const types: string[] = [];
      const input =
        'Call the tool crm__find with {"n":1}, then call the tool crm__fail with {}, then call the tool crm__change with {"n":2}';
      const first = await createResponse(openai, streamed, { input }, types);
      const [found, failed] = first.output;
      const asked = questionOf(first);
      const own = { type: 'mcp_call', server_label: 'crm' };
      assert.partialDeepStrictEqual(found, {
        ...own,
        status: 'completed',
        name: 'find',
        arguments: '{"n":1}',
        output: '{"echoed":{"n":1}}',
      });
      assert.partialDeepStrictEqual(failed, { ...own, status: 'failed', name: 'fail', error: 'Nothing there.' });
      assert.deepEqual([asked.server_label, asked.name, asked.arguments], ['crm', 'change', '{"n":2}']);
      const decision = [{ type: 'mcp_approval_response' as const, approval_request_id: asked.id, approve: true }];
      const last = await createResponse(openai, streamed, { previous_response_id: first.id, input: decision }, types);
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
    const openai = openaiFor(smith);
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
    const openai = openaiFor(smith);
    const first = await openai.responses.create({ model: 'ironcraft', input: ASK });
    const id = first.output[0]?.id ?? '';
    const decision = { type: 'mcp_approval_response' as const, approval_request_id: id, approve: true };
    const input = [{ role: 'user' as const, content: ASK }, decision];
    await openai.responses.create({ model: 'ironcraft', input });
    await assert.rejects(openai.responses.create({ model: 'ironcraft', input }), { code: 'invalid_input' });
    const foreign = await makeSmith();
    const other = openaiFor(foreign);
    const more = [...input, { role: 'user' as const, content: MORE }];
    await assert.rejects(other.responses.create({ model: 'ironcraft', input: more }), { code: 'invalid_input' });
    assert.equal((await smith.listRuns()).length, 1);
    assert.equal((await smith.made()).length, 1);
  });
});

describe('ai', () => {
  for (const streamed of WAYS) {
    for (const store of [true, false]) {
      test(`approves, rejects and goes on, ${nameWay(streamed)}, ${store ? 'by reference' : 'nothing stored'}`, async () => {
        const smith = await makeSmith();
        const ai = startAi(smith, streamed, { store });
        let answer = await ai.say(ASK_TWICE);
        for (const approved of [true, false]) answer = await ai.decide(answer, approved);
        assert.match(answer.text, /returned: \{"echoed":\{"n":1\}\}[\s\S]*denied/);
        assert.equal((await ai.say(MORE)).text.split(' ').length, 3);
        assert.deepEqual(await smith.made(), [{ n: 1 }]);
        assert.equal((await smith.listRuns()).length, 2);
      });
    }

    test(`approves a call of an MCP server, and reads what it gave, ${nameWay(streamed)}`, async () => {
      const ai = startAi(await makeSmith(), streamed);
      const first = await ai.say('Call the tool crm__find with {}, then call the tool crm__change with {"n":2}');
      const second = await ai.decide(first, true);
      assert.partialDeepStrictEqual(ai.resultsOf(second), [{ output: { serverLabel: 'crm', name: 'change' } }]);
      assert.equal((await ai.say(MORE)).text.split(' ').length, 3);
    });
  }
});

describe('@openai/agents', () => {
  for (const streamed of WAYS) {
    test(`calls functions, of which a person approves one and rejects another, ${nameWay(streamed)}`, async () => {
      const made: unknown[] = [];
      const buy = agents.tool({
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
      });
      const agent = startAgent(agents, await makeSmith(), streamed, [buy]);
      let result = await agent.say('Call the tool buy with {"n":1}, then call the tool buy with {"n":2}');
      for (const decision of ['approve', 'reject'] as const) result = await agent.decide(result, decision);
      assert.match(String(result.finalOutput), /bought \{"n":1\}/);
      assert.deepEqual(made, [{ n: 1 }]);
      const next = await agent.sayMore(result, MORE);
      assert.equal(String(next.finalOutput).split(' ').length, 3);
    });
  }
});

describe('langchain', () => {
  for (const streamed of WAYS) {
    test(`approves and rejects, ${nameWay(streamed)}`, async () => {
      const smith = await makeSmith();
      const chain = startLangchain(smith, streamed);
      let answer = await chain.say(ASK_TWICE);
      for (const approve of [true, false]) answer = await chain.decide(answer, approve);
      assert.match(answer.text, /returned: \{"echoed":\{"n":1\}\}[\s\S]*denied/);
      assert.deepEqual(await smith.made(), [{ n: 1 }]);
      assert.equal((await smith.listRuns()).length, 1);
    });
  }
});
