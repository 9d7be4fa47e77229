/** A number as it is deployed: looked up at Twilio with the account's token. */
import { abortAfter } from '../../../kernel/clock/timers.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { type Outbound, OutboundError } from '../../../kernel/outbound/outbound.ts';
import type { JsonObject } from '../../tables.ts';
import { NoAnswer, type ProviderAnswer } from '../provider/call-provider.ts';
import { objectAt, objectsAt } from '../provider/read-json.ts';
import { createTwilioApi, readRefusal, TWILIO_URL, type TwilioApi } from './api.ts';
import type { TwilioNumber } from './number.ts';

export type NumberKind = 'sms' | 'voice';

const DEADLINE_MS = 30_000;
/** What Twilio answers to a token or an account that it does not know. */
const REFUSED = new Set([401, 403, 404]);

/**
 * Throws `invalid_url` for an API that the guard lets nobody call, `invalid_request` for a token that Twilio refuses and for a
 * number that the account does not have or that cannot do it, and `connect_failed` where Twilio does not answer.
 */
export async function checkTwilioNumber(outbound: Outbound, kind: NumberKind, number: TwilioNumber): Promise<void> {
  if (number.access.baseUrl !== TWILIO_URL) await checkAddress(outbound, number.access.baseUrl);
  const answer = await ask(createTwilioApi(outbound), number);
  if (REFUSED.has(answer.status)) {
    throw refused(
      'secrets.auth_token',
      `Twilio does not accept the account and its token: ${readRefusal(answer).message}.`,
    );
  }
  if (answer.status !== 200 || !answer.isJson) throw failed(readRefusal(answer).message);
  const found = findNumber(answer, number);
  if (found === undefined) {
    throw refused('provider_metadata.number', `The account has no number ${number.number}.`);
  }
  if (objectAt(found, 'capabilities')[kind] === false) {
    throw refused('provider_metadata.number', `Twilio says that ${number.number} cannot do ${kind}.`);
  }
}

/** As Twilio lists it; undefined where the account has no such number. */
export function findNumber({ body }: ProviderAnswer, { number }: TwilioNumber): JsonObject | undefined {
  return objectsAt(body, 'incoming_phone_numbers').find(({ phone_number }) => phone_number === number);
}

export function listNumber(
  api: TwilioApi,
  { number, access }: TwilioNumber,
  signal: AbortSignal,
): Promise<ProviderAnswer> {
  return api.call(access, { method: 'GET', path: 'IncomingPhoneNumbers', query: { PhoneNumber: number } }, signal);
}

async function checkAddress(outbound: Outbound, address: string): Promise<void> {
  try {
    await outbound.checkUrl(address, { policy: 'public', httpsOnly: true });
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    const message = `\`api_base_url\` is refused: ${error.message}.`;
    throw new ApiError('invalid_url', { param: 'provider_metadata.api_base_url', message });
  }
}

async function ask(api: TwilioApi, number: TwilioNumber): Promise<ProviderAnswer> {
  try {
    return await listNumber(api, number, abortAfter(DEADLINE_MS));
  } catch (error) {
    throw error instanceof NoAnswer ? failed(error.message) : error;
  }
}

function refused(param: string, message: string): ApiError {
  return new ApiError('invalid_request', { param, message: `${message} Copy both from the same account’s console.` });
}

function failed(why: string): ApiError {
  return new ApiError('connect_failed', { message: `Twilio could not be asked: ${why}. Try again.` });
}
