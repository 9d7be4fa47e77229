/** An app of Slack's as a project saves it. */
import { abortAfter } from '../../../kernel/clock/timers.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { CheckedAccount } from '../accounts/checked-account.ts';
import { checkBot, checkClient } from './check-account.ts';
import { checkFactory, type SlackFactory } from './factory/check-factory.ts';
import type { OwnAddresses } from './factory/manifest.ts';
import { createSlackApi } from './web-api.ts';

const DEADLINE_MS = 60_000;

export interface SlackApp {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly signingSecret: string;
  readonly botToken: string | undefined;
  readonly baseUrl: string;
  /** Undefined: no apps are made for smiths. */
  readonly factory: SlackFactory | undefined;
}

/** Throws `slack_api_error` and `invalid_manifest_template`. The signing secret is proved by the first call that comes. */
export async function checkSlackApp(
  { outbound }: { readonly outbound: Pick<Outbound, 'fetch'> },
  at: OwnAddresses,
  app: SlackApp,
): Promise<CheckedAccount> {
  const { clientId, clientSecret, signingSecret, botToken, baseUrl, factory } = app;
  const api = createSlackApi(outbound);
  const signal = abortAfter(DEADLINE_MS);
  await checkClient(api, baseUrl, app, signal);
  const bot = botToken === undefined ? undefined : await checkBot(api, { baseUrl, token: botToken }, signal);
  const made = factory && (await checkFactory(api, baseUrl, factory, at, signal));
  return {
    accountId: clientId,
    settings: {
      api_base_url: baseUrl,
      ...(bot !== undefined && { team_id: bot.teamId, team: bot.teamName, bot_user_id: bot.botUserId }),
      ...made?.settings,
    },
    secrets: {
      client_secret: clientSecret,
      signing_secret: signingSecret,
      ...(botToken !== undefined && { bot_token: botToken }),
      ...made?.secrets,
    },
    webhookKeyHash: null,
  };
}
