import Type from 'typebox';
import { closedObject, component, failsWith, missingFailsWith, nullable } from '../../../kernel/http/schema.ts';
import { checkSlackApp, removeSlackInstalls, SLACK_URL, settingOf } from '../../channels/index.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import type { AccountKind } from './account-kind.ts';
import { checkApiUrl } from './check-api-url.ts';
import type { AccountDependencies } from './dependencies.ts';
import { apiBaseUrl } from './schema.ts';

const MAX_TOKEN_CHARS = 1_024;

function text(description: string, maxLength = MAX_TOKEN_CHARS) {
  return Type.String({
    minLength: 1,
    maxLength,
    description,
    ...failsWith('empty_config'),
    ...missingFailsWith('empty_config'),
  });
}

const SlackAccountIn = component(
  'SlackAccountIn',
  closedObject({
    client_id: text('Of the app, as *Basic Information* at api.slack.com/apps shows it.', 64),
    client_secret: text('From the same page. Never shown again.'),
    signing_secret: text('From the same page: Slack signs its calls with it. Never shown again.'),
    bot_token: Type.Optional(
      nullable(Type.String({ minLength: 1, maxLength: MAX_TOKEN_CHARS }), {
        description: 'Of the bot in the workspace that the app is installed in: `xoxb-…`. Never shown again.',
      }),
    ),
    api_base_url: apiBaseUrl(SLACK_URL),
  }),
);

export function slackAccount(deps: AccountDependencies): AccountKind<typeof SlackAccountIn> {
  return {
    kind: 'slack',
    name: 'Slack app',
    body: SlackAccountIn,
    example: {
      client_id: '1234567890.1234567890123',
      client_secret: '0123456789abcdef0123456789abcdef',
      signing_secret: '8f742231b10e8888abcd99yyyzzz85a5',
      bot_token: 'xoxb-example',
    },
    description:
      'Replaces the app, once Slack has said that its id and secret belong together and that the bot’s token is good. Slack ' +
      'brings what people write to `webhook_url`: it is entered in the app’s settings.',
    errors: ['empty_config', 'slack_api_error', 'invalid_url'],
    shown: {
      name: 'SlackAccount',
      own: {
        client_id: nullable(Type.String()),
        team_id: nullable(Type.String(), { description: 'Of the workspace that the bot’s token is of.' }),
        team_name: nullable(Type.String()),
        bot_user_id: nullable(Type.String()),
        api_base_url: nullable(Type.String()),
      },
    },
    async check(_projectId, body) {
      const baseUrl = await checkApiUrl(deps.outbound, body.api_base_url, SLACK_URL);
      return checkSlackApp(deps, {
        clientId: body.client_id,
        clientSecret: body.client_secret,
        signingSecret: body.signing_secret,
        botToken: body.bot_token ?? undefined,
        baseUrl,
      });
    },
    // The app stays as it is at Slack, where others may have installed it: its calls are refused here.
    disconnect: (account) => removeSlackInstalls(tenantDb(deps.db, account.projectId), account),
    show: (row, projectId) => ({
      client_id: row?.account_id ?? null,
      team_id: row === undefined ? null : settingOf(row.settings, 'team_id') || null,
      team_name: row === undefined ? null : settingOf(row.settings, 'team') || null,
      bot_user_id: row === undefined ? null : settingOf(row.settings, 'bot_user_id') || null,
      api_base_url: row === undefined ? null : settingOf(row.settings, 'api_base_url'),
      webhook_url: row === undefined ? null : `${deps.publicUrl}/v1/slack/webhook/${projectId}`,
    }),
  };
}
