import { project } from '../../access/operation.ts';
import type { Memory } from '../../knowledge/memory/index.ts';
import { getMemory } from './get-memory.ts';
import { putMemory } from './put-memory.ts';
import { recall } from './recall.ts';
import { RecallBody, RecallOut, SmithPath, WorkingMemory, WorkingMemoryIn } from './schema.ts';

export function memoryOperations({ memory }: { readonly memory: Memory }) {
  return [
    project.read({
      id: 'smiths.memory.get',
      method: 'GET',
      path: '/v1/smiths/{sid}/memory',
      posture: 'any',
      scope: 'memories:read',
      summary: 'Get a smith’s working memory',
      params: SmithPath,
      reply: WorkingMemory,
      handler: getMemory(memory),
    }),
    project.turn({
      id: 'smiths.memory.put',
      method: 'PUT',
      path: '/v1/smiths/{sid}/memory',
      posture: 'any',
      scope: 'memories:write',
      summary: 'Replace a smith’s working memory',
      description: 'The next turn is given the new text. A turn under way keeps the one that it began with.',
      params: SmithPath,
      body: WorkingMemoryIn,
      example: { content: 'Likes short answers.' },
      reply: WorkingMemory,
      handler: putMemory(memory),
    }),
    project.turn({
      id: 'smiths.memory.recall',
      method: 'POST',
      path: '/v1/smiths/{sid}/memory/recall',
      posture: 'any',
      scope: 'memories:read',
      summary: 'Search what was said in a smith’s threads',
      description:
        'By meaning, over all of its threads. From the first recall on, turns are indexed as they end; a smith with ' +
        '`auto_memory` is indexed from its first turn.',
      params: SmithPath,
      body: RecallBody,
      example: { query: 'How should the answer be?', limit: 3 },
      reply: RecallOut,
      errors: ['embedding_unavailable', 'budget_exceeded', 'service_overloaded'],
      handler: recall(memory),
    }),
  ];
}
