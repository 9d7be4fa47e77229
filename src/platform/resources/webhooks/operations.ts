import { pageOf, pageQuery } from '../../../kernel/http/paging.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { project } from '../../access/operation.ts';
import { checkWebhookUrl } from './check-webhook.ts';
import { createWebhook } from './create-webhook.ts';
import { deleteWebhook } from './delete-webhook.ts';
import type { WebhookDependencies } from './dependencies.ts';
import { listDeliveries } from './list-deliveries.ts';
import { listWebhooks } from './list-webhooks.ts';
import { redeliver } from './redeliver.ts';
import { replayWebhook } from './replay-webhook.ts';
import { rotateWebhookSecret } from './rotate-webhook-secret.ts';
import {
  Delivery,
  DeliveryPath,
  DeliveryQuery,
  ReplayIn,
  ReplayStarted,
  RotateIn,
  TestSent,
  Webhook,
  WebhookCreated,
  WebhookIn,
  WebhookPatch,
  WebhookPath,
  WebhookRotated,
} from './schema.ts';
import { testWebhook } from './test-webhook.ts';
import { updateWebhook } from './update-webhook.ts';

export function webhookOperations(deps: WebhookDependencies) {
  return [
    project.read({
      id: 'tenant.webhooks.list',
      method: 'GET',
      path: '/v1/tenant/webhooks',
      posture: 'tenant',
      summary: 'List webhooks, newest first',
      description: 'Never their secrets.',
      query: Type.Object(pageQuery),
      reply: pageOf(Webhook),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listWebhooks,
    }),
    project.change({
      id: 'tenant.webhooks.create',
      method: 'POST',
      path: '/v1/tenant/webhooks',
      posture: 'tenant',
      summary: 'Register a webhook',
      description:
        'Events from now on are sent to it as signed POSTs, the same envelopes as on the feed. The secret is in this answer and nowhere else.',
      status: 201,
      body: WebhookIn,
      example: { url: 'https://example.com/ironcraft', events: ['run.', 'budget.threshold'] },
      reply: WebhookCreated,
      errors: ['invalid_url', 'url_required'],
      precheck: ({ body }) => checkWebhookUrl(deps.outbound, body.url),
      handler: createWebhook(deps),
    }),
    project.change({
      id: 'tenant.webhooks.update',
      method: 'PATCH',
      path: '/v1/tenant/webhooks/{wid}',
      posture: 'tenant',
      summary: 'Change or pause a webhook',
      description: 'Deliveries that wait go to the new address. What happens during a pause is delivered after it.',
      params: WebhookPath,
      body: WebhookPatch,
      example: { active: false },
      reply: Webhook,
      errors: ['empty_patch', 'invalid_url'],
      precheck: async ({ body }) => {
        if (body.url !== undefined) await checkWebhookUrl(deps.outbound, body.url);
      },
      handler: updateWebhook,
    }),
    project.change({
      id: 'tenant.webhooks.delete',
      method: 'DELETE',
      path: '/v1/tenant/webhooks/{wid}',
      posture: 'tenant',
      summary: 'Delete a webhook',
      description: 'What waits for it is not delivered.',
      params: WebhookPath,
      handler: deleteWebhook,
    }),
    project.change({
      id: 'tenant.webhooks.rotate',
      method: 'POST',
      path: '/v1/tenant/webhooks/{wid}/rotate_secret',
      posture: 'tenant',
      summary: 'Replace a webhook’s secret',
      description:
        'While the grace lasts the secret that is replaced is valid too, and each delivery carries a signature with each valid secret. A further rotation shortens no grace before it: up to five earlier secrets are valid beside the new one, and of more the one that ends first goes. `grace_seconds` of 0 ends all earlier ones at once.',
      params: WebhookPath,
      body: RotateIn,
      example: { grace_seconds: 3_600 },
      reply: WebhookRotated,
      handler: rotateWebhookSecret(deps),
    }),
    project.change({
      id: 'tenant.webhooks.test',
      method: 'POST',
      path: '/v1/tenant/webhooks/{wid}/test',
      posture: 'tenant',
      summary: 'Send a test event to a webhook',
      description: 'A `webhook.test` event, whatever the webhook subscribes to. It is sent at once.',
      status: 202,
      params: WebhookPath,
      reply: TestSent,
      // Each call is a further delivery.
      idempotent: false,
      handler: testWebhook(deps),
    }),
    project.read({
      id: 'tenant.webhooks.deliveries.list',
      method: 'GET',
      path: '/v1/tenant/webhooks/{wid}/deliveries',
      posture: 'tenant',
      summary: 'List a webhook’s deliveries, newest first',
      description: 'With the attempts of each. Those that are settled are kept for 30 days.',
      params: WebhookPath,
      query: DeliveryQuery,
      reply: pageOf(Delivery),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listDeliveries,
    }),
    project.change({
      id: 'tenant.webhooks.deliveries.redeliver',
      method: 'POST',
      path: '/v1/tenant/webhooks/{wid}/deliveries/{did}/redeliver',
      posture: 'tenant',
      summary: 'Deliver an event once more',
      description: 'At once, whatever became of the delivery, and with all its retries again.',
      status: 202,
      params: DeliveryPath,
      reply: Delivery,
      // Each call is a further delivery.
      idempotent: false,
      handler: redeliver(deps),
    }),
    project.change({
      id: 'tenant.webhooks.replay',
      method: 'POST',
      path: '/v1/tenant/webhooks/{wid}/replay',
      posture: 'tenant',
      summary: 'Deliver all events since a time once more',
      description: 'Those that the webhook subscribes to, from before it was registered too. Works in the background.',
      status: 202,
      params: WebhookPath,
      body: ReplayIn,
      example: { since: '2026-05-01' },
      reply: ReplayStarted,
      // Each call is a further delivery.
      idempotent: false,
      handler: replayWebhook(deps),
    }),
  ];
}
