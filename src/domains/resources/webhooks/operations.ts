import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { ListQuery } from '../../list-page.ts';
import { BASE_PATH, workspace } from '../../operation.ts';
import { checkWebhookUrl } from './check-webhook.ts';
import { createWebhook } from './create-webhook.ts';
import { deleteWebhook } from './delete-webhook.ts';
import { getWebhook, listDeliveries, listWebhooks } from './read-webhooks.ts';
import { rotateWebhookSecret } from './rotate-webhook-secret.ts';
import {
  DeletedWebhook,
  Delivery,
  DeliveryList,
  DeliveryPath,
  DeliveryQuery,
  SecretRotation,
  TestSent,
  Webhook,
  WebhookCreate,
  WebhookList,
  WebhookPath,
  WebhookUpdate,
  WebhookWithSecret,
} from './schema.ts';
import { redeliver, testWebhook } from './send-again.ts';
import { updateWebhook } from './update-webhook.ts';

export interface WebhookDependencies {
  readonly vault: Vault;
  readonly clock: Clock;
  readonly outbound: Pick<Outbound, 'checkUrl'>;
}

const ALL = `${BASE_PATH}/webhooks`;
const ONE = `${ALL}/{webhook_id}`;
const reading = { method: 'GET', posture: 'workspace', scope: 'read' } as const;
const writing = { posture: 'workspace', scope: 'write' } as const;

export function webhookOperations(deps: WebhookDependencies) {
  return [
    workspace.read({
      ...reading,
      id: 'webhooks.list',
      path: ALL,
      summary: 'List webhooks',
      description: 'Newest first. Never their secrets.',
      query: ListQuery,
      reply: WebhookList,
      handler: listWebhooks,
    }),
    workspace.change({
      ...writing,
      id: 'webhooks.create',
      method: 'POST',
      path: ALL,
      summary: 'Register a webhook',
      description:
        'Events from now on are sent to it as signed POSTs (Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature`), at least once each, and again for hours where no answer of 2xx comes. A workspace has twenty at most.',
      status: 201,
      body: WebhookCreate,
      example: { url: 'https://example.com/hook', events: ['order', 'domain.expiring'] },
      reply: WebhookWithSecret,
      precheck: ({ body }) => checkWebhookUrl(deps.outbound, body.url),
      handler: createWebhook(deps),
    }),
    workspace.read({
      ...reading,
      id: 'webhooks.get',
      path: ONE,
      summary: 'Look a webhook up',
      params: WebhookPath,
      reply: Webhook,
      handler: getWebhook,
    }),
    workspace.change({
      ...writing,
      id: 'webhooks.update',
      method: 'PATCH',
      path: ONE,
      summary: 'Change or pause a webhook',
      description: 'Deliveries that wait go to the new address. What happens during a pause is delivered after it.',
      params: WebhookPath,
      body: WebhookUpdate,
      example: { active: false },
      reply: Webhook,
      precheck: async ({ body }) => {
        if (body.url !== undefined) await checkWebhookUrl(deps.outbound, body.url);
      },
      handler: updateWebhook,
    }),
    workspace.change({
      ...writing,
      id: 'webhooks.delete',
      method: 'DELETE',
      path: ONE,
      summary: 'Delete a webhook',
      description: 'What waits for it is not delivered.',
      params: WebhookPath,
      reply: DeletedWebhook,
      handler: deleteWebhook,
    }),
    workspace.change({
      ...writing,
      id: 'webhooks.rotate_secret',
      method: 'POST',
      path: `${ONE}/rotate-secret`,
      summary: 'Replace a webhook’s secret',
      description:
        'While the grace lasts the secret that is replaced is valid too, and each delivery carries a signature with each valid secret. A further rotation shortens no grace before it: up to five earlier secrets are valid beside the new one, and of more the one that ends first goes. `grace_seconds` of 0 ends all earlier ones at once.',
      params: WebhookPath,
      body: SecretRotation,
      example: { grace_seconds: 3_600 },
      reply: WebhookWithSecret,
      handler: rotateWebhookSecret(deps),
    }),
    workspace.change({
      ...writing,
      id: 'webhooks.test',
      method: 'POST',
      path: `${ONE}/test`,
      summary: 'Send a test event to a webhook',
      description: 'A `webhook.test` event, whatever the webhook subscribes to. It is sent at once.',
      status: 202,
      params: WebhookPath,
      reply: TestSent,
      handler: testWebhook,
    }),
    workspace.read({
      ...reading,
      id: 'webhooks.list_deliveries',
      path: `${ONE}/deliveries`,
      summary: 'List a webhook’s deliveries',
      description: 'Newest first. Those that are settled are kept for 30 days.',
      params: WebhookPath,
      query: DeliveryQuery,
      reply: DeliveryList,
      handler: listDeliveries,
    }),
    workspace.change({
      ...writing,
      id: 'webhooks.redeliver',
      method: 'POST',
      path: `${ONE}/deliveries/{delivery_id}/redeliver`,
      summary: 'Deliver an event once more',
      description: 'At once, whatever became of the delivery, and with all its retries again.',
      status: 202,
      params: DeliveryPath,
      reply: Delivery,
      handler: redeliver(deps),
    }),
  ];
}
