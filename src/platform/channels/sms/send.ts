/** One text message to a person. */
import { settingOf } from '../accounts/open-account.ts';
import { type Destination, type MessagePart, SendFailure } from '../channel.ts';
import { NoAnswer, type ProviderAnswer } from '../provider/call-provider.ts';
import { objectsAt, textAt } from '../provider/read-json.ts';
import { readRefusal, type TwilioApi, type TwilioRequest } from '../twilio/api.ts';
import { accessOf } from '../twilio/number.ts';

const TOO_MANY_MS = 10_000;
/** Of Twilio's codes: calls at once, a full queue, too many to one person. */
const LIMITS = new Set([20429, 21611, 30001, 14107]);
/** More than one person is sent in the moment that is looked back at. */
const LOOKED_AT = '50';

/** Answers Twilio's id of the message. Throws `SendFailure`. */
export async function sendSms(
  api: TwilioApi,
  to: Destination,
  part: MessagePart,
  signal: AbortSignal,
): Promise<string> {
  if (part.type !== 'text') throw new SendFailure('refused', 'Twilio sends no files that have no public address.');
  const form = { To: to.chat, From: numberOf(to), Body: part.plain };
  const answer = await callTwilio(api, to, { method: 'POST', path: 'Messages', form }, signal);
  const id = textAt(answer.body, 'sid');
  if (id === undefined) throw new SendFailure('unknown', 'Twilio acknowledged the message without an id.');
  return id;
}

/** Twilio's id of a message that may have arrived; undefined where it has not. */
export async function findSentSms(
  api: TwilioApi,
  to: Destination,
  part: MessagePart,
  sentAfter: Date,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (part.type !== 'text') return undefined;
  const query = { To: to.chat, From: numberOf(to), PageSize: LOOKED_AT };
  const { body } = await callTwilio(api, to, { method: 'GET', path: 'Messages', query }, signal);
  // Twilio tells times in whole seconds.
  const earliestMs = Math.floor(sentAfter.getTime() / 1_000) * 1_000;
  const found = objectsAt(body, 'messages').find(
    (message) =>
      // Accounts on trial have a sentence of Twilio's ahead of it.
      textAt(message, 'body')?.endsWith(part.plain) === true &&
      Date.parse(textAt(message, 'date_created') ?? '') >= earliestMs,
  );
  return textAt(found, 'sid');
}

function numberOf({ account }: Destination): string {
  return settingOf(account.settings, 'number');
}

async function callTwilio(
  api: TwilioApi,
  { account }: Destination,
  request: TwilioRequest,
  signal: AbortSignal,
): Promise<ProviderAnswer> {
  let answer: ProviderAnswer;
  try {
    answer = await api.call(accessOf(account), request, signal);
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    const kind = error.reason === 'unreached' ? 'unavailable' : error.reason;
    throw new SendFailure(kind, `Twilio: ${error.message}.`, { cause: error });
  }
  if (answer.status >= 200 && answer.status < 300) {
    if (answer.isJson) return answer;
    throw new SendFailure('unknown', 'Twilio answered with something that is no JSON.');
  }
  throw refusalOf(answer);
}

function refusalOf(answer: ProviderAnswer): SendFailure {
  const { code = 0, message } = readRefusal(answer);
  if (answer.status === 429 || LIMITS.has(code)) {
    const retryAfterMs = answer.retryAfterMs ?? TOO_MANY_MS;
    return new SendFailure('paused', `Twilio: ${message}`, { bucket: 'account', retryAfterMs });
  }
  return new SendFailure(answer.status >= 500 ? 'unavailable' : 'refused', `Twilio: ${message}`);
}
