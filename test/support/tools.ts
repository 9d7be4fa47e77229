/** Tools of the server that tests watch and steer. */
import type {
  QuestionHold,
  Tool,
  ToolAnswer,
  ToolCall,
  ToolOutcome,
  ToolSource,
} from '../../src/platform/tools/tool.ts';

export interface TestTools {
  readonly source: ToolSource;
  /** Every execution so far, of the given run. */
  callsOf(runId: string): ToolCall[];
  /** Lets the executions of `gate` in this run return. */
  open(runId: string): void;
  /** From here on `moving` has another target. */
  moveTarget(): void;
  /** From here on the smith's calls of `account` have an account. */
  connect(smithId: string): void;
  /** Whoever waits for answers to the questions that this run's calls of `ask` hold gives up. */
  giveUp(runId: string): void;
  /** How often what this run's questions hold was let go. */
  endsOf(runId: string): number;
}

/**
 * `echo` returns its arguments; `boom` throws; `refuse` gives an error; `gate` returns once it is opened and ignores its
 * signal; `careful` is `gate` that must not be repeated; `guarded` is `echo` behind an approval; `ask` asks for a `name`,
 * twice where its argument `times` is 2, held where `held` is true, and returns what it was told; `account` needs an account of the smith's, whose key is
 * `mcp:books`, which can be connected somewhere unless its argument `nowhere` is true; `moving` is `guarded`, of the target that is set;
 * `crm__find`, `crm__change` and `crm__fail` are `echo`, `guarded` and `refuse` of an MCP server.
 */
export function createTestTools(): TestTools {
  const calls: ToolCall[] = [];
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const gateOf = (runId: string) => {
    const gate = gates.get(runId) ?? Promise.withResolvers<void>();
    gates.set(runId, gate);
    return gate;
  };
  const tool = (name: string, run: (call: ToolCall) => Promise<ToolOutcome>, more: Partial<Tool> = {}): Tool => ({
    name,
    description: `The tool ${name}`,
    parameters: { type: 'object', additionalProperties: true },
    requiresApproval: false,
    repeatable: true,
    execute: (call) => {
      calls.push(call);
      return run(call);
    },
    ...more,
  });
  const echo = async ({ args }: ToolCall) => ({ output: { echoed: args } });
  const gated = async ({ args, runId }: ToolCall) => {
    await gateOf(runId).promise;
    return { output: { passed: args } };
  };
  const askForName = async ({ args, answer, runId }: ToolCall): Promise<ToolOutcome> => {
    const told = [...((answer?.state.told ?? []) as unknown[]), ...(answer === undefined ? [] : [describe(answer)])];
    if (told.length >= Number(args.times ?? 1)) return { output: { told } };
    const expiresAt = typeof args.seconds === 'number' ? { expiresAt: new Date(Date.now() + args.seconds * 1000) } : {};
    return {
      question: {
        message: `Name ${told.length + 1}?`,
        requestedSchema: NAME_SCHEMA,
        state: { told },
        ...(args.held === true ? { hold: describeHold(runId) } : {}),
        ...expiresAt,
      },
    };
  };
  const accounts = new Set<string>();
  const useAccount = async ({ args, smithId }: ToolCall): Promise<ToolOutcome> => {
    if (accounts.has(smithId)) return { output: { used: args } };
    return {
      connection: {
        key: 'mcp:books',
        provider: 'library',
        mcpServer: 'books',
        authorizeUrl: args.nowhere === true ? null : 'https://library.example/authorize?state=s',
        hasChanged: async () => accounts.has(smithId),
      },
    };
  };
  const holds = new Map<string, PromiseWithResolvers<void> & { ends: number }>();
  const holdOf = (runId: string) => {
    const hold = holds.get(runId) ?? Object.assign(Promise.withResolvers<void>(), { ends: 0 });
    holds.set(runId, hold);
    return hold;
  };
  const describeHold = (runId: string): QuestionHold => ({
    over: holdOf(runId).promise,
    end: () => {
      holdOf(runId).ends += 1;
    },
  });
  let revision = 1;
  const tools = [
    tool('echo', echo),
    tool('boom', () => {
      throw new Error('The tool has no power.');
    }),
    tool('refuse', async () => ({ error: 'Not today.' })),
    tool('gate', gated),
    tool('careful', gated, { repeatable: false }),
    tool('guarded', echo, { requiresApproval: true }),
    tool('ask', askForName, { repeatable: false }),
    tool('account', useAccount),
    tool('crm__find', echo, { target: { server_label: 'crm', tool_name: 'find' } }),
    tool('crm__change', echo, { requiresApproval: true, target: { server_label: 'crm', tool_name: 'change' } }),
    tool('crm__fail', async () => ({ error: 'Nothing there.' }), {
      target: { server_label: 'crm', tool_name: 'fail' },
    }),
  ];
  const moving = () => tool('moving', echo, { requiresApproval: true, target: { revision } });
  return {
    source: { toolsFor: () => ({ tools: [...tools, moving()] }) },
    callsOf: (runId) => calls.filter((call) => call.runId === runId),
    open: (runId) => gateOf(runId).resolve(),
    moveTarget: () => {
      revision += 1;
    },
    connect: (smithId) => void accounts.add(smithId),
    giveUp: (runId) => holdOf(runId).resolve(),
    endsOf: (runId) => holdOf(runId).ends,
  };
}

const NAME_SCHEMA = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: 20 }, mood: { type: 'string', default: 'calm' } },
  required: ['name'],
};

function describe({ action, content }: ToolAnswer) {
  return { action, content };
}
