import type { ProjectRead } from '../../access/operation.ts';
import type { Memory } from '../../knowledge/memory/index.ts';
import { requireSmith } from './require-smith.ts';
import type { SmithPath, WorkingMemory } from './schema.ts';

export function getMemory(memory: Memory) {
  return async (request: ProjectRead<{ params: SmithPath }>): Promise<WorkingMemory> => {
    const owner = await requireSmith(request);
    return { content: await memory.read(owner) };
  };
}
