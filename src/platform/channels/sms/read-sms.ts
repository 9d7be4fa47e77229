/** A text message as Twilio tells of it. https://www.twilio.com/docs/messaging/guides/webhook-request */
import { extension } from 'mime-types';
import type { JsonObject } from '../../tables.ts';
import type { InboundAttachment, InboundMessage } from '../channel.ts';
import { PHONE_NUMBER } from '../twilio/number.ts';
import { fieldOf, type TwilioForm } from '../twilio/signature.ts';

/** More than any message has. */
const MAX_MEDIA = 20;
/** What Twilio, or the carrier, answers and obeys itself; `YES`, which takes back a `STOP`, is what people say to a smith too. */
const KEYWORDS = new Set([
  'STOP',
  'STOPALL',
  'UNSUBSCRIBE',
  'CANCEL',
  'END',
  'QUIT',
  'REVOKE',
  'OPTOUT',
  'START',
  'UNSTOP',
  'HELP',
  'INFO',
]);

/** Undefined for what nobody answers: of a short code, of the number itself, of nothing. */
export function readSms(form: TwilioForm): InboundMessage | undefined {
  const [id, from, to, text] = [
    fieldOf(form, 'MessageSid'),
    fieldOf(form, 'From'),
    fieldOf(form, 'To'),
    fieldOf(form, 'Body'),
  ];
  if (id === '' || !PHONE_NUMBER.test(from) || from === to) return undefined;
  const attachments = readMedia(form);
  if (text.trim() === '' && attachments.length === 0) return undefined;
  const data = withoutAddresses(form);
  const message = { idempotencyKey: id, sender: from, chat: from, subject: from, text, attachments, data };
  if (isKeyword(form, text)) return { ...message, type: 'keyword', fate: 'noted' };
  return { ...message, type: 'message' };
}

function isKeyword(form: TwilioForm, text: string): boolean {
  return fieldOf(form, 'OptOutType') !== '' || KEYWORDS.has(text.trim().toUpperCase());
}

function readMedia(form: TwilioForm): readonly InboundAttachment[] {
  const count = Math.min(Number.parseInt(fieldOf(form, 'NumMedia'), 10) || 0, MAX_MEDIA);
  return Array.from({ length: count }).flatMap((_, index) => {
    const ref = fieldOf(form, `MediaUrl${index}`);
    const mediaType = fieldOf(form, `MediaContentType${index}`).split(';')[0]?.trim().toLowerCase() ?? '';
    const ending = extension(mediaType);
    const filename = `attachment-${index + 1}${ending === false ? '' : `.${ending}`}`;
    return ref === '' ? [] : [{ ref, filename, mediaType: mediaType === '' ? undefined : mediaType, bytes: undefined }];
  });
}

/** Addresses of media open for whoever has them, unless the account says otherwise. */
function withoutAddresses(form: TwilioForm): JsonObject {
  return Object.fromEntries(Object.entries(form).filter(([name]) => !name.startsWith('MediaUrl')));
}
