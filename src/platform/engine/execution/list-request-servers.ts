/** What the MCP servers that a turn's request brought list: each is asked once a run, and the answer is a step of it. */

import { untilAborted } from '../../../kernel/cancellation/until-aborted.ts';
import { systemClock } from '../../../kernel/clock/clock.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { type ListedTools, type RequestServer, showTools } from '../../tools/request-servers.ts';
import type { NewFrame } from '../timeline/frames.ts';
import type { TurnContext } from './turn-context.ts';

/** The lists by label. Throws what a list failed with, once that has been told, and the turn's abort. */
export async function listRequestServers(context: TurnContext): Promise<ReadonlyMap<string, ListedTools>> {
  const { state } = context;
  const servers = state.config.settings.tools.mcp ?? [];
  const lists = new Map(state.requestLists);
  for (const { label, tools } of servers) if (tools !== undefined) lists.set(label, { tools, protocol: null });
  const asked = servers.filter(({ label }) => !lists.has(label));
  const outcomes = await Promise.allSettled(asked.map((server) => listServer(context, server)));
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.status === 'rejected') throw outcome.reason;
    lists.set(asked[index]?.label ?? '', outcome.value);
  }
  return lists;
}

async function listServer(context: TurnContext, server: RequestServer): Promise<ListedTools> {
  const { deps, live, state, journal } = context;
  const { key, abort } = live;
  const startedAt = systemClock.now().toISOString();
  live.emit('mcp.listing', { server_label: server.label });
  try {
    const list = await untilAborted(deps.requestServers.list(key, server, abort.signal), abort.signal);
    context.throwIfStopped();
    const step = {
      position: state.nextPosition++,
      kind: 'mcp_list' as const,
      status: 'completed' as const,
      name: server.label,
      output: { ...list },
      started_at: startedAt,
      finished_at: systemClock.now().toISOString(),
    };
    await journal.commit({ status: 'in_progress', steps: [step], frames: [listedFrame(server, list)] });
    return list;
  } catch (error) {
    context.throwIfStopped();
    if (error instanceof ApiError) {
      const frame = listedFrame(server, { tools: [] }, error.message);
      await journal.commit({ status: 'in_progress', frames: [frame] });
    }
    throw error;
  }
}

function listedFrame(server: RequestServer, list: Pick<ListedTools, 'tools'>, error?: string): NewFrame {
  const data = { server_label: server.label, tools: showTools(server, list) };
  return { type: 'mcp.listed', data: error === undefined ? data : { ...data, error } };
}
