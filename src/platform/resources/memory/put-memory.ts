import type { ProjectRead } from '../../access/operation.ts';
import type { Memory } from '../../knowledge/memory/index.ts';
import { requireSmith } from './require-smith.ts';
import type { SmithPath, WorkingMemory, WorkingMemoryIn } from './schema.ts';

export function putMemory(memory: Memory) {
  return async (request: ProjectRead<{ params: SmithPath; body: WorkingMemoryIn }>): Promise<WorkingMemory> => {
    const owner = await requireSmith(request);
    await memory.write(owner, request.body.content);
    return { content: await memory.read(owner) };
  };
}
