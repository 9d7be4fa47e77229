/** Calls, by Twilio's ConversationRelay. */
export { createVoice, type Voice } from './voice.ts';
