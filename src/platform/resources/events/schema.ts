/** The feed's envelope, alike on `GET /v1/events` and in webhook deliveries. */
import type { Static } from 'typebox';
import { pageQuery } from '../../../kernel/http/paging.ts';
import { component, jsonObject, moment, nullable, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { Actor } from '../../access/actor-schema.ts';

export const Event = component(
  'Event',
  Type.Object({
    v: Type.Literal(1),
    id: Type.String({ description: 'The same in the feed and in deliveries: ignore an id that was seen before.' }),
    type: Type.String(),
    created_at: timestamp(),
    tenant_id: Type.String({ description: 'Id of the project.' }),
    smith_id: nullable(Type.String()),
    actor: nullable(Actor),
    data: jsonObject({ description: 'Members depend on the type.' }),
  }),
);

export const EventQuery = Type.Object({
  type: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'A type (`run.completed`), or a family of types (`agent.` or `agent`), as webhooks select them.',
    }),
  ),
  smith_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  since: Type.Optional(moment('Events of this time and later')),
  ...pageQuery,
});

export type Event = Static<typeof Event>;
export type EventQuery = Static<typeof EventQuery>;
