import { ListQuery } from '../../list-page.ts';
import { BASE_PATH, workspace } from '../../operation.ts';
import { getEvent } from './get-event.ts';
import { listEvents } from './list-events.ts';
import { Event, EventList, EventPath } from './schema.ts';

export function eventOperations() {
  return [
    workspace.read({
      id: 'events.list',
      method: 'GET',
      path: `${BASE_PATH}/events`,
      posture: 'workspace',
      scope: 'read',
      summary: 'List what happened in the workspace',
      description: 'Newest first: the same objects that webhooks are sent. Whoever has missed some reads them here.',
      query: ListQuery,
      reply: EventList,
      handler: listEvents,
    }),
    workspace.read({
      id: 'events.get',
      method: 'GET',
      path: `${BASE_PATH}/events/{event_id}`,
      posture: 'workspace',
      scope: 'read',
      summary: 'Look an event up',
      params: EventPath,
      reply: Event,
      handler: getEvent,
    }),
  ];
}
