/** Webhooks: the feed, sent to those who subscribe to it. */
export { DELIVERIES_CHANNEL } from './channel.ts';
export { createWebhookDeliveries } from './deliver-webhooks.ts';
export { defineWebhookJobs, enqueueReplay } from './webhook-jobs.ts';
