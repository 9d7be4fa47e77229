/** What providers of channels have delivered. */
import type { Static } from 'typebox';
import { pageQuery } from '../../../kernel/http/paging.ts';
import { component, jsonObject, moment, nullable, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

export const InboundEvent = component(
  'InboundEvent',
  Type.Object({
    id: Type.String(),
    source: Type.String({ description: 'The kind of the deployment that it came through.' }),
    type: Type.String({
      description: '`message`, `unbound_message` where nobody claims the sender, or what else the kind has.',
    }),
    subject: Type.String({ description: 'Who wrote where, in a line.' }),
    idempotency_key: Type.String({ description: 'The provider’s: a repetition is the same event.' }),
    smith_id: nullable(Type.String()),
    data: jsonObject({ description: 'As the provider sent it, without credentials.' }),
    created_at: nullable(timestamp()),
  }),
);

export const InboundEventPath = Type.Object({ ievid: Type.String() });

export const InboundEventQuery = Type.Object({
  source: Type.Optional(Type.String({ minLength: 1, maxLength: 32, description: 'A kind, such as `telegram`.' })),
  smith_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  since: Type.Optional(moment('Events of this time and later')),
  ...pageQuery,
});

export type InboundEvent = Static<typeof InboundEvent>;
export type InboundEventPath = Static<typeof InboundEventPath>;
export type InboundEventQuery = Static<typeof InboundEventQuery>;
