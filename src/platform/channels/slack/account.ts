/** An app of Slack's as a project saves it. */
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { CheckedAccount } from '../accounts/checked-account.ts';
import { checkBot, checkClient } from './check-account.ts';
import { createSlackApi } from './web-api.ts';

const DEADLINE_MS = 60_000;

export interface SlackApp {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly signingSecret: string;
  readonly botToken: string | undefined;
  readonly baseUrl: string;
}

/** Throws `slack_api_error`. The signing secret is proved by the first call that comes. */
export async function checkSlackApp(
  { outbound }: { readonly outbound: Pick<Outbound, 'fetch'> },
  app: SlackApp,
): Promise<CheckedAccount> {
  const { clientId, clientSecret, signingSecret, botToken, baseUrl } = app;
  const api = createSlackApi(outbound);
  const signal = AbortSignal.timeout(DEADLINE_MS);
  await checkClient(api, baseUrl, app, signal);
  const bot = botToken === undefined ? undefined : await checkBot(api, { baseUrl, token: botToken }, signal);
  return {
    accountId: clientId,
    settings: {
      api_base_url: baseUrl,
      ...(bot !== undefined && { team_id: bot.teamId, team: bot.teamName, bot_user_id: bot.botUserId }),
    },
    secrets: {
      client_secret: clientSecret,
      signing_secret: signingSecret,
      ...(botToken !== undefined && { bot_token: botToken }),
    },
    webhookKeyHash: null,
  };
}
