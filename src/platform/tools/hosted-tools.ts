/** Tools that the server itself runs; an agent or smith enables them by name. */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { OfferedSkill, Tool, ToolOutcome, ToolSource } from './tool.ts';

const CURRENT_TIME = 'current_time';
const RUN_COMMAND = 'run_command';

export const hostedToolNames: readonly string[] = [CURRENT_TIME, RUN_COMMAND];

/** A hosted tool that needs more than this process to run. */
export interface HostedToolPart {
  forTurn(skills: readonly OfferedSkill[]): Tool;
  /** What is missing for it to run on this server, and how to mend that; null: it runs. */
  findProblem(): Promise<string | null>;
}

export interface HostedTool {
  readonly tool: Tool;
  /** What is missing for it to run on this server, and how to mend that; null: it runs. */
  readonly unavailableReason: string | null;
}

export interface HostedTools extends ToolSource {
  /** Every one of them, whether it can run or not. */
  list(): Promise<readonly HostedTool[]>;
}

export function createHostedTools(clock: Clock, runCommand: HostedToolPart): HostedTools {
  const time = currentTime(clock);
  return {
    list: async () => [
      { tool: time, unavailableReason: null },
      { tool: runCommand.forTurn([]), unavailableReason: await runCommand.findProblem() },
    ],
    toolsFor: async ({ hostedTools, skills }) => {
      const tools = hostedTools.includes(CURRENT_TIME) ? [time] : [];
      if (!hostedTools.includes(RUN_COMMAND)) return { tools };
      const problem = await runCommand.findProblem();
      if (problem === null) return { tools: [...tools, runCommand.forTurn(skills)] };
      const message = `The tool ${RUN_COMMAND} is not available, and the turn does without it: ${problem}`;
      return { tools, warnings: [{ code: 'hosted_tool_unavailable', message }] };
    },
  };
}

function currentTime(clock: Clock): Tool {
  return {
    name: CURRENT_TIME,
    description: 'The current date and time in an IANA time zone (UTC when none is given).',
    parameters: {
      type: 'object',
      properties: { timezone: { type: 'string', description: 'IANA name, e.g. Europe/Berlin' } },
      additionalProperties: false,
    },
    requiresApproval: false,
    repeatable: true,
    execute: async ({ args }) => formatTime(clock.now(), typeof args.timezone === 'string' ? args.timezone : 'UTC'),
  };
}

function formatTime(now: Date, timezone: string): ToolOutcome {
  try {
    const local = new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short', timeStyle: 'medium' });
    const day = new Intl.DateTimeFormat('en', { timeZone: timezone, weekday: 'long' });
    return { output: { utc: now.toISOString(), timezone, local: local.format(now), weekday: day.format(now) } };
  } catch {
    return { error: `"${timezone}" is no IANA time zone, such as Europe/Berlin.` };
  }
}
