/** Schemas of callers that take a validator's time or memory, or mislead it. */
import type { SchemaCase } from './cases.ts';

export const schemas: readonly SchemaCase[] = [
  {
    name: 'two members of one string each',
    schema: () => ({
      type: 'object',
      properties: { name: { type: 'string' }, place: { type: 'string' } },
    }),
    answer: 'accepted',
  },
];
