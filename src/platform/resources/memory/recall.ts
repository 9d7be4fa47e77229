import type { ProjectRead } from '../../access/operation.ts';
import type { Memory } from '../../knowledge/memory/index.ts';
import { requireSmith } from './require-smith.ts';
import { DEFAULT_RECALL, type RecallBody, type RecallOut, type SmithPath } from './schema.ts';

export function recall(memory: Memory) {
  return async (request: ProjectRead<{ params: SmithPath; body: RecallBody }>): Promise<RecallOut> => {
    const owner = await requireSmith(request);
    const { query, limit = DEFAULT_RECALL } = request.body;
    const found = await memory.recall(owner, query, limit, request.signal);
    return { data: found.map(({ threadId, text, score }) => ({ thread_id: threadId, content: text, score })) };
  };
}
