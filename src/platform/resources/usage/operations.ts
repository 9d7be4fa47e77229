import { project } from '../../access/operation.ts';
import { createMeterEvent } from './create-meter-event.ts';
import { getTenantUsage, type UsageDependencies } from './get-tenant-usage.ts';
import { getUsage } from './get-usage.ts';
import { listMeterEvents } from './list-meter-events.ts';
import {
  MeterEvent,
  MeterEventIn,
  MeterEventList,
  MeterEventQuery,
  TenantUsage,
  TenantUsageQuery,
  UsageQuery,
  UsageReport,
} from './schema.ts';

export function usageOperations(deps: UsageDependencies) {
  return [
    project.read({
      id: 'tenant.usage.get',
      method: 'GET',
      path: '/v1/tenant/usage',
      posture: 'any',
      scope: 'usage:read',
      summary: 'Get what the project used',
      description:
        'In all, by day and by model, in this month unless it is told otherwise; without what external systems report. ' +
        'A smith token sees its own smith’s part.',
      query: TenantUsageQuery,
      reply: TenantUsage,
      errors: ['invalid_period'],
      handler: getTenantUsage(deps),
    }),
    project.read({
      id: 'usage.get',
      method: 'GET',
      path: '/v1/usage',
      posture: 'any',
      scope: 'usage:read',
      summary: 'Get usage by day, model, smith, agent, customer, app, meter or source',
      description:
        'Groups come in the order of their members. `totals` are of all groups, not of the page. Counted are turns ' +
        '(`source` turn: every model call, those that were cut off by estimate), embeddings, sandboxes, the project’s ' +
        'own meters, and what external systems report (`source` external), which no budget counts. A smith token sees its own smith’s.',
      query: UsageQuery,
      reply: UsageReport,
      errors: ['invalid_group_by', 'invalid_period', 'invalid_cursor', 'invalid_limit', 'smith_mismatch'],
      handler: getUsage,
    }),
    project.change({
      id: 'usage.events.create',
      method: 'POST',
      path: '/v1/usage/events',
      posture: 'any',
      scope: 'usage:write',
      summary: 'Count something of your own',
      description: 'Send an `Idempotency-Key`, so that an event that is sent again counts once.',
      status: 201,
      body: MeterEventIn,
      example: { meter: 'pages_translated', quantity: 12.5 },
      reply: MeterEvent,
      errors: ['invalid_meter', 'invalid_quantity', 'smith_mismatch', 'not_found'],
      handler: createMeterEvent,
    }),
    project.read({
      id: 'usage.events.list',
      method: 'GET',
      path: '/v1/usage/events',
      posture: 'any',
      scope: 'usage:read',
      summary: 'List meter events, newest first',
      description:
        'A smith token sees its own smith’s. Old ones are removed when the operator’s time for them is over; `usage` keeps their sums.',
      query: MeterEventQuery,
      reply: MeterEventList,
      errors: ['invalid_cursor', 'invalid_limit', 'smith_mismatch'],
      handler: listMeterEvents,
    }),
  ];
}
