/** Tools of the server that tests watch and steer. */
import type { Tool, ToolCall, ToolOutcome, ToolSource } from '../../src/platform/tools/tool.ts';

export interface TestTools {
  readonly source: ToolSource;
  /** Every execution so far, of the given run. */
  callsOf(runId: string): ToolCall[];
  /** Lets the executions of `gate` in this run return. */
  open(runId: string): void;
}

/**
 * `echo` returns its arguments; `boom` throws; `refuse` gives an error; `gate` returns once it is opened and ignores its
 * signal; `careful` is `gate` that must not be repeated; `guarded` is `echo` behind an approval.
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
  const tools = [
    tool('echo', echo),
    tool('boom', () => {
      throw new Error('The tool has no power.');
    }),
    tool('refuse', async () => ({ error: 'Not today.' })),
    tool('gate', gated),
    tool('careful', gated, { repeatable: false }),
    tool('guarded', echo, { requiresApproval: true }),
  ];
  return {
    source: { toolsFor: () => tools },
    callsOf: (runId) => calls.filter((call) => call.runId === runId),
    open: (runId) => gateOf(runId).resolve(),
  };
}
