/** An app as it is saved: Slack is asked whether its id and secret belong together, and whose the bot's token is. */
import { ApiError } from '../../../kernel/http/errors.ts';
import type { JsonObject } from '../../tables.ts';
import { textAt } from '../provider/read-json.ts';
import { isTeamId, isUserId } from './place.ts';
import { type SlackAccess, type SlackApi, SlackProblem } from './web-api.ts';

/** Slack answers to this that it is no code, once it knows the app. */
const NO_CODE = 'none';
const WRONG_APP = new Set(['invalid_client_id', 'bad_client_secret']);

/** Throws `slack_api_error`. */
export async function checkClient(
  api: SlackApi,
  baseUrl: string,
  { clientId, clientSecret }: { readonly clientId: string; readonly clientSecret: string },
  signal: AbortSignal,
): Promise<void> {
  try {
    const args = { client_id: clientId, client_secret: clientSecret, code: NO_CODE };
    await api.call({ baseUrl }, 'oauth.v2.access', args, signal);
  } catch (error) {
    if (!(error instanceof SlackProblem)) throw error;
    if (WRONG_APP.has(error.code)) {
      throw refused('client_secret', `Slack does not know an app of this id and secret (${error.code}).`);
    }
    if (error.kind !== 'refused') throw unanswered(error);
  }
}

/** Whom a bot's token is of. */
export interface CheckedBot {
  readonly teamId: string;
  readonly teamName: string;
  readonly botUserId: string;
}

/** Throws `slack_api_error`. */
export async function checkBot(api: SlackApi, access: SlackAccess, signal: AbortSignal): Promise<CheckedBot> {
  let answer: JsonObject;
  try {
    answer = await api.call(access, 'auth.test', {}, signal);
  } catch (error) {
    if (!(error instanceof SlackProblem)) throw error;
    if (error.kind === 'refused') throw refused('bot_token', `Slack does not accept the bot's token (${error.code}).`);
    throw unanswered(error);
  }
  const { team_id: teamId, user_id: botUserId } = answer;
  if (!isTeamId(teamId) || !isUserId(botUserId) || textAt(answer, 'bot_id') === undefined) {
    throw refused('bot_token', 'The token is not one of a bot in a workspace: those begin with `xoxb-`.');
  }
  return { teamId, teamName: textAt(answer, 'team') ?? teamId, botUserId };
}

function unanswered(problem: SlackProblem): ApiError {
  return new ApiError('slack_api_error', { message: `Slack could not be asked: ${problem.message} Try again.` });
}

function refused(param: string, message: string): ApiError {
  return new ApiError('slack_api_error', {
    param,
    message: `${message} Copy it from the settings of the app at api.slack.com/apps.`,
  });
}
