import type { Static } from 'typebox';
import { component, jsonObject, oneOf, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { EVENT_TYPES } from '../../events/index.ts';
import { nextAfter } from '../../list-page.ts';

export const EventPath = Type.Object({ event_id: Type.String({ minLength: 1, maxLength: 100 }) });

export const Event = component(
  'Event',
  Type.Object({
    v: Type.Literal(1),
    id: Type.String({ description: 'The same however often it is delivered: `webhook-id`.' }),
    type: oneOf(EVENT_TYPES),
    created_at: timestamp(),
    workspace_id: Type.String(),
    data: jsonObject({ description: 'Members depend on the type.' }),
  }),
);
export type Event = Static<typeof Event>;

export const EventList = Type.Object({ events: Type.Array(Event), next_after: nextAfter });
export type EventList = Static<typeof EventList>;
