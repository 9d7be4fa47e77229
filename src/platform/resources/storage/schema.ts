/** What a project stores, and how much it may. */
import type { Static } from 'typebox';
import { component } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

export const Storage = component(
  'Storage',
  Type.Object({
    object: Type.Literal('storage'),
    used_bytes: Type.Integer({
      description: 'What its files, those inside conversations too, and its vector stores take.',
    }),
    limit_bytes: Type.Integer({ description: 'What they may take; set by the operator.' }),
  }),
);

export type Storage = Static<typeof Storage>;
