export { TELEGRAM_URL } from './bot-api.ts';
export { checkTelegramBot, disconnectTelegramBot } from './connect.ts';
export { createTelegramPolling } from './polling.ts';
export { readTelegramCall, verifyTelegramCall } from './receive.ts';
export { createTelegramChannel } from './telegram-channel.ts';
export { SECRET_HEADER } from './webhook.ts';
