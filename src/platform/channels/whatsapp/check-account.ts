/** An account as it is saved: its number is looked up, and the app subscribed to what is written there. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { NoAnswer, type ProviderAnswer } from '../provider/call-provider.ts';
import { objectsAt, textAt } from '../provider/read-json.ts';
import { type Graph, type GraphAccess, type GraphRequest, readRefusal } from './graph.ts';

/** More than any account has. */
const MAX_NUMBERS = '1000';

export interface NumberAccess extends GraphAccess {
  readonly phoneNumberId: string;
  readonly businessAccountId: string;
}

/**
 * Answers the number's digits, as links to it have them. Throws `whatsapp_validation_failed` for what Meta refuses, and
 * `whatsapp_api_error` where it does not answer.
 */
export async function checkNumber(graph: Graph, access: NumberAccess, signal: AbortSignal): Promise<string> {
  const { phoneNumberId, businessAccountId } = access;
  const number = await ask(graph, access, signal, {
    method: 'GET',
    path: phoneNumberId,
    query: { fields: 'id,display_phone_number' },
  });
  const digits = textAt(number.body, 'display_phone_number')?.replaceAll(/\D/g, '') ?? '';
  if (textAt(number.body, 'id') !== phoneNumberId || digits === '') {
    throw invalid('phone_number_id', 'Meta knows nothing of this id that could be a phone number.');
  }
  if (!(await hasNumber(graph, access, signal))) {
    throw invalid('business_account_id', `The business account ${businessAccountId} does not have this phone number.`);
  }
  return digits;
}

/** Throws `whatsapp_subscribe_failed`. */
export async function subscribeApp(graph: Graph, access: NumberAccess, signal: AbortSignal): Promise<void> {
  const answer = await call(graph, access, signal, {
    method: 'POST',
    path: `${access.businessAccountId}/subscribed_apps`,
  });
  if (answer.status === 200 && answer.body.success === true) return;
  const why = readRefusal(answer)?.message ?? `status ${answer.status}`;
  throw new ApiError('whatsapp_subscribe_failed', {
    message: `Meta did not subscribe the app to the account's messages: ${why}. Check the app's permissions, then save again.`,
  });
}

/** Whatever Meta says: the account is gone here. */
export async function unsubscribeApp(
  graph: Graph,
  access: GraphAccess,
  businessAccountId: string,
  signal: AbortSignal,
): Promise<void> {
  await graph.call(access, { method: 'DELETE', path: `${businessAccountId}/subscribed_apps` }, signal);
}

async function hasNumber(graph: Graph, access: NumberAccess, signal: AbortSignal): Promise<boolean> {
  const { phoneNumberId, businessAccountId } = access;
  const numbers = await ask(graph, access, signal, {
    method: 'GET',
    path: `${businessAccountId}/phone_numbers`,
    query: { fields: 'id', limit: MAX_NUMBERS },
  });
  return objectsAt(numbers.body, 'data').some(({ id }) => id === phoneNumberId);
}

async function ask(
  graph: Graph,
  access: NumberAccess,
  signal: AbortSignal,
  request: GraphRequest,
): Promise<ProviderAnswer> {
  const answer = await call(graph, access, signal, request);
  if (answer.status === 200 && answer.isJson) return answer;
  const why = readRefusal(answer)?.message ?? `status ${answer.status}`;
  const isRefused = answer.status >= 400 && answer.status < 500 && answer.status !== 429;
  if (!isRefused) throw apiError(why);
  throw new ApiError('whatsapp_validation_failed', {
    message: `Meta does not accept these credentials: ${why}. Check the access token, its permissions, the app secret and the ids.`,
  });
}

async function call(
  graph: Graph,
  access: NumberAccess,
  signal: AbortSignal,
  request: GraphRequest,
): Promise<ProviderAnswer> {
  try {
    return await graph.call(access, request, signal);
  } catch (error) {
    throw error instanceof NoAnswer ? apiError(error.message) : error;
  }
}

function invalid(param: string, message: string): ApiError {
  return new ApiError('whatsapp_validation_failed', {
    param,
    message: `${message} Copy it again from the app's API setup.`,
  });
}

function apiError(why: string): ApiError {
  return new ApiError('whatsapp_api_error', { message: `Meta could not be asked: ${why}. Try again.` });
}
