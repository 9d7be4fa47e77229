/** Tools of the server whose calls are effects of one replica, and noted where they arrive. */
import type { Tool, ToolCall, ToolOutcome, ToolSource } from '../../src/platform/tools/tool.ts';
import type { Effects } from './effects.ts';

export interface CalledTool {
  readonly name: string;
  readonly runId: string;
  readonly callId: string;
  readonly args: ToolCall['args'];
  /** What it was told, where it had asked. */
  readonly told: unknown;
}

/** `note` may be repeated, `pay` may not, `guarded` is `pay` behind an approval: those are executed once for each time that the turn is taken up. */
export const PLAIN_TOOLS = ['note', 'pay', 'guarded'];

const NAME_SCHEMA = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };

/** Those, and `ask`, which asks for a `name` and must not be repeated. */
export function createNotedTools(calls: CalledTool[], effects: Effects): ToolSource {
  const tool = (name: string, more: Partial<Tool> = {}, answer?: (call: ToolCall) => ToolOutcome): Tool => ({
    name,
    description: `The tool ${name}`,
    parameters: { type: 'object', additionalProperties: true },
    requiresApproval: false,
    repeatable: false,
    execute: ({ args, callId, runId, ...call }) =>
      effects.perform({ label: `tool ${name}` }, async () => {
        calls.push({ name, runId, callId, args, told: call.answer?.content });
        return answer?.({ args, callId, runId, ...call }) ?? { output: { noted: args } };
      }),
    ...more,
  });
  const tools = [
    tool('note', { repeatable: true }),
    tool('pay'),
    tool('guarded', { requiresApproval: true }),
    tool('ask', {}, ({ answer }) =>
      answer === undefined
        ? { question: { message: 'Whose name?', requestedSchema: NAME_SCHEMA, state: {} } }
        : { output: { told: answer.content } },
    ),
  ];
  return { toolsFor: () => ({ tools }) };
}
