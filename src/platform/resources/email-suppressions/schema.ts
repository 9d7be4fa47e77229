/** Addresses that get no mail of a project's. */
import type { Static } from 'typebox';
import { pageQuery } from '../../../kernel/http/paging.ts';
import { closedObject, component, failsWith, nullable, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

const MAX_ADDRESS_CHARS = 320;
const MAX_REASON_CHARS = 500;

const address = Type.String({ minLength: 1, maxLength: MAX_ADDRESS_CHARS, ...failsWith('invalid_address') });

export const SuppressionIn = component(
  'EmailSuppressionIn',
  closedObject({
    address,
    reason: Type.Optional(
      nullable(Type.String({ maxLength: MAX_REASON_CHARS }), { description: 'For whoever reads the list.' }),
    ),
  }),
);

export const Suppression = component(
  'EmailSuppression',
  Type.Object({
    id: Type.String(),
    address: Type.String({ description: 'In lower case.' }),
    reason: nullable(Type.String(), { description: 'What was given, or what a mail server said.' }),
    created_at: nullable(timestamp()),
  }),
);

export const SuppressionQuery = Type.Object({ address: Type.Optional(address) });
export const SuppressionListQuery = Type.Object(pageQuery);

export type SuppressionIn = Static<typeof SuppressionIn>;
export type Suppression = Static<typeof Suppression>;
export type SuppressionQuery = Static<typeof SuppressionQuery>;
export type SuppressionListQuery = Static<typeof SuppressionListQuery>;
