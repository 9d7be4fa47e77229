/** An application as it is saved: looked up with the bot's token, given its commands, and told where to send interactions. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { NoAnswer, type ProviderAnswer } from '../provider/call-provider.ts';
import { objectAt, textAt } from '../provider/read-json.ts';
import { type DiscordApi, type DiscordRequest, readRefusal } from './api.ts';
import { DISCORD_COMMANDS } from './commands.ts';

export interface ApplicationAccess {
  readonly baseUrl: string;
  readonly applicationId: string;
  readonly publicKey: string;
  readonly botToken: string;
}

/** What an account keeps beside what it was given. */
export interface CheckedApplication {
  readonly name: string;
  readonly botId: string;
}

/**
 * Throws `invalid_request` for a token that Discord refuses or that is another application's, `bad_public_key` for a key that
 * is another's, and `connect_failed` where Discord does not answer.
 */
export async function checkApplication(
  api: DiscordApi,
  access: ApplicationAccess,
  signal: AbortSignal,
): Promise<CheckedApplication> {
  const answer = await call(api, access, { method: 'GET', path: 'applications/@me' }, signal);
  if (answer.status === 401 || answer.status === 403) {
    throw refused('bot_token', `Discord does not accept the bot's token: ${readRefusal(answer).message}.`);
  }
  requireDone(answer, 'The application could not be looked up');
  const { applicationId, publicKey } = access;
  if (textAt(answer.body, 'id') !== applicationId) {
    throw refused('application_id', "The bot's token is of another application.");
  }
  if (textAt(answer.body, 'verify_key')?.toLowerCase() !== publicKey.toLowerCase()) {
    throw new ApiError('bad_public_key', { param: 'public_key' });
  }
  const name = textAt(answer.body, 'name') ?? applicationId;
  return { name, botId: textAt(objectAt(answer.body, 'bot'), 'id') ?? applicationId };
}

/** Those of ours alone: what else the application has stays. Throws `connect_failed`. */
export async function registerCommands(api: DiscordApi, access: ApplicationAccess, signal: AbortSignal): Promise<void> {
  for (const command of DISCORD_COMMANDS) {
    const path = `applications/${encodeURIComponent(access.applicationId)}/commands`;
    const answer = await call(api, access, { method: 'POST', path, body: command }, signal);
    requireDone(answer, `The command /${String(command.name)} could not be registered`);
  }
}

/** Discord calls the address before it answers: by then the account must be there. Throws `invalid_url`, `connect_failed`. */
export async function setEndpoint(
  api: DiscordApi,
  access: ApplicationAccess,
  url: string,
  signal: AbortSignal,
): Promise<void> {
  const body = { interactions_endpoint_url: url };
  const answer = await call(api, access, { method: 'PATCH', path: 'applications/@me', body }, signal);
  if (answer.status === 400) {
    throw new ApiError('invalid_url', {
      message:
        `Discord could not verify ${url}: ${readRefusal(answer).message}. ` +
        'It must be https, and IRONCRAFT_PUBLIC_URL must be reachable from the internet.',
    });
  }
  requireDone(answer, 'The address for interactions could not be set');
}

/** Discord sends nothing here any more. Throws what `setEndpoint` throws. */
export async function clearEndpoint(
  api: DiscordApi,
  access: Pick<ApplicationAccess, 'baseUrl' | 'botToken'>,
  signal: AbortSignal,
): Promise<void> {
  const body = { interactions_endpoint_url: null };
  requireDone(
    await call(api, access, { method: 'PATCH', path: 'applications/@me', body }, signal),
    'The address stays',
  );
}

async function call(
  api: DiscordApi,
  { baseUrl, botToken }: Pick<ApplicationAccess, 'baseUrl' | 'botToken'>,
  request: DiscordRequest,
  signal: AbortSignal,
): Promise<ProviderAnswer> {
  try {
    return await api.call(baseUrl, { ...request, botToken }, signal);
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    throw new ApiError('connect_failed', { message: `Discord could not be asked: ${error.message}. Try again.` });
  }
}

function requireDone(answer: ProviderAnswer, what: string): void {
  if (answer.status >= 200 && answer.status < 300 && answer.isJson) return;
  throw new ApiError('connect_failed', { message: `${what}: ${readRefusal(answer).message}. Try again.` });
}

function refused(param: string, message: string): ApiError {
  return new ApiError('invalid_request', { param, message: `${message} Copy both from the same application.` });
}
