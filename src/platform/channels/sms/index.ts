/** Text messages, by Twilio. */
export { readSms } from './read-sms.ts';
export { createSmsChannel } from './sms-channel.ts';
