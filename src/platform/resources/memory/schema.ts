/** A smith's memory: a text that every turn is given, and recall of what was said. */
import type { Static } from 'typebox';
import { closedObject, component } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { MAX_MEMORY_CHARS } from '../../knowledge/memory/index.ts';

export const SmithPath = Type.Object({ sid: Type.String() });

const DEFAULT_RECALL = 10;
const MAX_RECALL = 100;
const MAX_QUERY_CHARS = 8_192;

export const WorkingMemory = component(
  'WorkingMemory',
  Type.Object({
    content: Type.String({
      description:
        'What every turn of the smith is given. Facts that the smith keeps by itself (`auto_memory`) are lines of it, each ' +
        'with the runs that it was learnt in: `- Prefers tea (run_…)`.',
    }),
  }),
);

export const WorkingMemoryIn = component(
  'WorkingMemoryIn',
  closedObject({
    content: Type.String({ maxLength: MAX_MEMORY_CHARS, description: 'The whole text; empty clears it.' }),
  }),
);

export const RecallBody = component(
  'RecallBody',
  closedObject({
    query: Type.String({ minLength: 1, maxLength: MAX_QUERY_CHARS, description: 'What to look for, in full words.' }),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_RECALL, default: DEFAULT_RECALL })),
  }),
);

export const RecallOut = component(
  'RecallOut',
  Type.Object({
    data: Type.Array(
      Type.Object({
        thread_id: Type.String(),
        content: Type.String({ description: 'A passage of what was asked and answered in the thread.' }),
        score: Type.Number({ description: 'How near the passage is to the question: 0 to 1, best first.' }),
      }),
    ),
  }),
);

export { DEFAULT_RECALL };
export type SmithPath = Static<typeof SmithPath>;
export type WorkingMemory = Static<typeof WorkingMemory>;
export type WorkingMemoryIn = Static<typeof WorkingMemoryIn>;
export type RecallBody = Static<typeof RecallBody>;
export type RecallOut = Static<typeof RecallOut>;
