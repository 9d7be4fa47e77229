/** What happened in a workspace, kept for its list and sent to its webhooks. */
export { appendEvent, appendEvents, DELIVERIES_CHANNEL, insertDelivery, type NewEvent } from './append-event.ts';
export { createWebhookDeliveries, defineDeliverySweep } from './deliver-webhooks.ts';
export { EVENT_TYPES, isSelector } from './event-types.ts';
export { renderEvent } from './render-event.ts';
