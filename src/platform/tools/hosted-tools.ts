/** Tools that the server itself runs; an agent or smith enables them by name. */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Tool, ToolOutcome, ToolSource } from './tool.ts';

export const hostedToolNames: readonly string[] = ['current_time'];

export function createHostedTools(clock: Clock): ToolSource {
  const tools: Readonly<Record<string, Tool>> = { current_time: currentTime(clock) };
  return {
    toolsFor: ({ hostedTools }) => hostedTools.flatMap((name) => tools[name] ?? []),
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
