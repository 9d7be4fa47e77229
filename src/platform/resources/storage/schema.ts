/** What the files of a project take, and how much they may. */
import Type, { type Static } from 'typebox';
import { component } from '../../../kernel/http/schema.ts';

export const Storage = component(
  'Storage',
  Type.Object({
    object: Type.Literal('storage'),
    used_bytes: Type.Integer({ description: 'What the files of the project take, those inside conversations too.' }),
    limit_bytes: Type.Integer({ description: 'What they may take; set by the operator.' }),
  }),
);

export type Storage = Static<typeof Storage>;
