import { pageOf } from '../../../kernel/http/paging.ts';
import { project } from '../../access/operation.ts';
import { getInboundEvent } from './get-inbound-event.ts';
import { listInboundEvents } from './list-inbound-events.ts';
import { InboundEvent, InboundEventPath, InboundEventQuery } from './schema.ts';

export function inboundEventOperations() {
  return [
    project.read({
      id: 'inbound_events.list',
      method: 'GET',
      path: '/v1/inbound_events',
      posture: 'any',
      scope: 'deployments:read',
      summary: 'List what came in through channels, newest first',
      description: 'The filters combine. A smith token sees what came to its own smith. Kept for 30 days.',
      query: InboundEventQuery,
      reply: pageOf(InboundEvent),
      errors: ['invalid_cursor', 'invalid_limit', 'smith_mismatch'],
      handler: listInboundEvents,
    }),
    project.read({
      id: 'inbound_events.get',
      method: 'GET',
      path: '/v1/inbound_events/{ievid}',
      posture: 'any',
      scope: 'deployments:read',
      summary: 'Get what came in through a channel',
      description: '`deployment.inbound` on the feed names it as `inbound_event_id`.',
      params: InboundEventPath,
      reply: InboundEvent,
      handler: getInboundEvent,
    }),
  ];
}
