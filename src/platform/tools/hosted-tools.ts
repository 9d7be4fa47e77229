/** Tools that the server itself runs; an agent or smith enables them by name. */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Tool, ToolOutcome, ToolSource } from './tool.ts';

export const hostedToolNames: readonly string[] = ['current_time'];

export interface HostedTool {
  readonly tool: Tool;
  /** What is missing for it to run on this server, and how to mend that; null: it runs. */
  readonly unavailableReason: string | null;
}

export interface HostedTools extends ToolSource {
  /** Every one of them, whether it can run or not. */
  list(): Promise<readonly HostedTool[]>;
}

export function createHostedTools(clock: Clock): HostedTools {
  const list = async (): Promise<HostedTool[]> => [{ tool: currentTime(clock), unavailableReason: null }];
  return {
    list,
    toolsFor: async ({ hostedTools }) => ({
      tools:
        hostedTools.length === 0
          ? []
          : (await list()).filter(({ tool }) => hostedTools.includes(tool.name)).map(({ tool }) => tool),
    }),
  };
}

function currentTime(clock: Clock): Tool {
  return {
    name: 'current_time',
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
