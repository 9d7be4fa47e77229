import { pageOf } from '../../../kernel/http/paging.ts';
import { project } from '../../access/operation.ts';
import { listEvents } from './list-events.ts';
import { Event, EventQuery } from './schema.ts';

export function eventOperations() {
  return [
    project.read({
      id: 'events.list',
      method: 'GET',
      path: '/v1/events',
      posture: 'tenant',
      summary: 'List events, newest first',
      description:
        'The append-only feed of notable moments: the source of truth to reconcile webhook deliveries with. The filters combine.',
      query: EventQuery,
      reply: pageOf(Event),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listEvents,
    }),
  ];
}
