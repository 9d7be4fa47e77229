import type { WebhookTables } from '../../kernel/webhooks/delivery-store.ts';

export const webhookTables: WebhookTables = {
  schema: '',
  owner: 'project_id',
  eventColumns: ['smith_id', 'actor', 'data'],
};
