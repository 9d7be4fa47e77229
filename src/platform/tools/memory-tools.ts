/** The tools by which a smith with `auto_memory` learns facts and looks back at what was said. */
import type { Memory } from '../knowledge/memory/index.ts';
import type { Tool, ToolSource } from './tool.ts';

const RECALLED = 5;
const REMEMBER = 'remember';
const RECALL = 'recall_conversations';

export const MEMORY_TOOLS: ReadonlySet<string> = new Set([REMEMBER, RECALL]);

export function createMemoryTools(memory: Memory): ToolSource {
  const recallTool = recallConversations(memory);
  return {
    toolsFor: ({ memory: settings }) => ({
      tools: settings?.auto === true ? [remember(memory, settings.consolidate), recallTool] : [],
    }),
  };
}

function remember(memory: Memory, consolidate: boolean): Tool {
  return {
    name: REMEMBER,
    description:
      'Keeps a fact about the user for all later conversations. Use it for what stays true: names, preferences, decisions.',
    parameters: {
      type: 'object',
      properties: { fact: { type: 'string', description: 'One fact in one short sentence.' } },
      required: ['fact'],
      additionalProperties: false,
    },
    requiresApproval: false,
    // The same fact of the same run is kept once.
    repeatable: true,
    execute: async ({ args, projectId, smithId, runId }) => {
      const owner = { projectId, smithId };
      const problem = await memory.remember(owner, typeof args.fact === 'string' ? args.fact : '', runId);
      if (problem !== undefined) return { error: problem };
      if (consolidate) await memory.consolidateSoon(owner);
      return { output: { remembered: true } };
    },
  };
}

function recallConversations(memory: Memory): Tool {
  return {
    name: RECALL,
    description: 'Searches what was said in earlier conversations with this user.',
    parameters: {
      type: 'object',
      properties: { query: { type: 'string', description: 'What to look for, in full words.' } },
      required: ['query'],
      additionalProperties: false,
    },
    requiresApproval: false,
    repeatable: true,
    execute: async ({ args, projectId, smithId, signal }) => {
      const query = typeof args.query === 'string' ? args.query.trim() : '';
      if (query === '') return { error: '`query` must say what to look for.' };
      const found = await memory.recall({ projectId, smithId }, query, RECALLED, signal);
      return { output: { passages: found.map(({ threadId, text }) => ({ thread_id: threadId, text })) } };
    },
  };
}
