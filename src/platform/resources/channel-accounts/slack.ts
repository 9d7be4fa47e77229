import type { Static } from 'typebox';
import { ApiError } from '../../../kernel/http/errors.ts';
import { closedObject, component, failsWith, missingFailsWith, nullable } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import {
  checkSlackApp,
  removeSlackInstalls,
  retrySlackAppRemovals,
  SLACK_URL,
  type SlackFactory,
  settingOf,
} from '../../channels/index.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import type { AccountKind } from './account-kind.ts';
import { checkApiUrl } from './check-api-url.ts';
import type { AccountDependencies } from './dependencies.ts';
import { apiBaseUrl } from './schema.ts';

const MAX_TOKEN_CHARS = 1_024;
const MAX_TEMPLATE_CHARS = 32_768;
const MAX_APPS = 1_000;
const USUAL_APPS = 50;

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
    config_token: configToken(
      'Makes an app for each deployment with `setup`: of *Your App Configuration Tokens* at api.slack.com/apps.',
    ),
    config_refresh_token: configToken(
      'Generated with it: by it the configuration token is replaced before it ends. It works once.',
    ),
    manifest_template: Type.Optional(
      nullable(
        Type.String({
          minLength: 1,
          maxLength: MAX_TEMPLATE_CHARS,
          description:
            'What else the apps that are made are, as a text of JSON: a manifest of Slack’s, in which names, addresses and events are ' +
            'ours. Left out: one that has what is needed.',
          ...failsWith('invalid_manifest_template'),
        }),
      ),
    ),
    app_limit: Type.Optional(
      nullable(
        Type.Integer({
          minimum: 1,
          maximum: MAX_APPS,
          description: `So many apps are made at most; ${USUAL_APPS} where it is left out.`,
        }),
      ),
    ),
    api_base_url: apiBaseUrl(SLACK_URL),
  }),
);

function configToken(description: string) {
  return Type.Optional(
    nullable(
      Type.String({ minLength: 1, maxLength: MAX_TOKEN_CHARS, description: `${description} Never shown again.` }),
    ),
  );
}

/** Undefined: the project makes no apps. Throws `empty_config` for a part of it. */
function readFactory(body: Static<typeof SlackAccountIn>): SlackFactory | undefined {
  const {
    config_token: token,
    config_refresh_token: refreshToken,
    manifest_template: template,
    app_limit: limit,
  } = body;
  if (token == null && refreshToken == null && template == null && limit == null) return undefined;
  if (token == null || refreshToken == null) {
    const missing = token == null ? 'config_token' : 'config_refresh_token';
    const message = `What makes apps needs \`config_token\` and \`config_refresh_token\`. Send \`${missing}\` too.`;
    throw new ApiError('empty_config', { param: missing, message });
  }
  return {
    configToken: token,
    configRefreshToken: refreshToken,
    manifestTemplate: template ?? undefined,
    appLimit: limit ?? USUAL_APPS,
  };
}

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
      'brings what people write to `webhook_url`: it is entered in the app’s settings. With `config_token` apps of smiths’ own are ' +
      'made; those that are there stay without it, and are neither renamed nor deleted at Slack.',
    errors: ['empty_config', 'slack_api_error', 'invalid_url', 'invalid_manifest_template'],
    shown: {
      name: 'SlackAccount',
      own: {
        client_id: nullable(Type.String()),
        team_id: nullable(Type.String(), { description: 'Of the workspace that the bot’s token is of.' }),
        team_name: nullable(Type.String()),
        bot_user_id: nullable(Type.String()),
        app_limit: nullable(Type.Integer(), {
          description: 'So many apps of smiths’ own are made at most. Null: none, as there is no configuration token.',
        }),
        manifest_template: nullable(Type.String(), { description: 'Null: the usual one.' }),
        api_base_url: nullable(Type.String()),
      },
    },
    async check(projectId, body) {
      const factory = readFactory(body);
      const baseUrl = await checkApiUrl(deps.outbound, body.api_base_url, SLACK_URL);
      const checked = await checkSlackApp(
        deps,
        { publicUrl: deps.publicUrl, projectId },
        {
          factory,
          clientId: body.client_id,
          clientSecret: body.client_secret,
          signingSecret: body.signing_secret,
          botToken: body.bot_token ?? undefined,
          baseUrl,
        },
      );
      if (factory === undefined) return checked;
      return { ...checked, register: () => retrySlackAppRemovals(deps.jobs, deps.db, projectId) };
    },
    // The app stays as it is at Slack, where others may have installed it: its calls are refused here.
    disconnect: (account) => removeSlackInstalls(tenantDb(deps.db, account.projectId), account),
    show: (row, projectId) => ({
      client_id: row?.account_id ?? null,
      team_id: row === undefined ? null : settingOf(row.settings, 'team_id') || null,
      team_name: row === undefined ? null : settingOf(row.settings, 'team') || null,
      bot_user_id: row === undefined ? null : settingOf(row.settings, 'bot_user_id') || null,
      app_limit: typeof row?.settings.app_limit === 'number' ? row.settings.app_limit : null,
      manifest_template: row === undefined ? null : settingOf(row.settings, 'manifest_template') || null,
      api_base_url: row === undefined ? null : settingOf(row.settings, 'api_base_url'),
      webhook_url: row === undefined ? null : `${deps.publicUrl}/v1/slack/webhook/${projectId}`,
    }),
  };
}
