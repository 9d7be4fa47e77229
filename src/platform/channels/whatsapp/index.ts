/** WhatsApp, by Meta's Cloud API. */
export { checkWhatsAppNumber, disconnectWhatsAppNumber } from './account.ts';
export { GRAPH_URL } from './graph.ts';
export { HUB_SIGNATURE_HEADER } from './signature.ts';
export { knowsVerifyToken, readWhatsAppCall, verifyWhatsAppCall } from './webhook.ts';
export { createWhatsAppChannel } from './whatsapp-channel.ts';
