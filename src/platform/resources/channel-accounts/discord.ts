import { ApiError } from '../../../kernel/http/errors.ts';
import { closedObject, component, nullable } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { checkDiscordApplication, DISCORD_URL, disconnectDiscordApplication, settingOf } from '../../channels/index.ts';
import type { AccountKind } from './account-kind.ts';
import { checkApiUrl } from './check-api-url.ts';
import type { AccountDependencies } from './dependencies.ts';
import { apiBaseUrl } from './schema.ts';

const MAX_ID_CHARS = 32;
const MAX_TOKEN_CHARS = 256;

const DiscordAccountIn = component(
  'DiscordAccountIn',
  closedObject({
    application_id: Type.Optional(
      Type.String({ maxLength: MAX_ID_CHARS, description: 'Of the application, as its general information shows it.' }),
    ),
    public_key: Type.Optional(
      Type.String({ maxLength: MAX_TOKEN_CHARS, description: 'From the same page: 64 hexadecimal digits.' }),
    ),
    bot_token: Type.Optional(
      Type.String({ maxLength: MAX_TOKEN_CHARS, description: 'Of the application’s bot. Never shown again.' }),
    ),
    api_base_url: apiBaseUrl(DISCORD_URL),
  }),
);

export function discordAccount(deps: AccountDependencies): AccountKind<typeof DiscordAccountIn> {
  const endpointOf = (projectId: string) => `${deps.publicUrl}/v1/discord/webhook/${projectId}`;
  return {
    kind: 'discord',
    name: 'Discord application',
    body: DiscordAccountIn,
    example: {
      application_id: '1100000000000000001',
      public_key: '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
      bot_token: 'MTEwMDAwMDAwMDAwMDAwMDAwMQ.example',
    },
    description:
      'Replaces the application, once Discord has said that all three belong together; registers the commands `/ask` and ' +
      '`/link`, and has Discord bring what people type to `webhook_url`, which it calls before it agrees.',
    errors: [
      'empty_config',
      'empty_application_id',
      'empty_bot_token',
      'bad_public_key',
      'invalid_url',
      'connect_failed',
    ],
    shown: {
      name: 'DiscordAccount',
      own: {
        application_id: nullable(Type.String()),
        application_name: nullable(Type.String()),
        public_key: nullable(Type.String()),
        api_base_url: nullable(Type.String()),
      },
    },
    async check(projectId, { application_id = '', public_key = '', bot_token = '', api_base_url }) {
      requireFilled(application_id, public_key, bot_token);
      const apiUrl = await checkApiUrl(deps.outbound, api_base_url, DISCORD_URL);
      const access = { baseUrl: apiUrl, applicationId: application_id, publicKey: public_key, botToken: bot_token };
      return checkDiscordApplication(deps, access, endpointOf(projectId));
    },
    disconnect: (account) => disconnectDiscordApplication(deps, account),
    show: (row, projectId) => ({
      application_id: row?.account_id ?? null,
      application_name: row === undefined ? null : settingOf(row.settings, 'name'),
      public_key: row === undefined ? null : settingOf(row.settings, 'public_key'),
      api_base_url: row === undefined ? null : settingOf(row.settings, 'api_base_url'),
      webhook_url: row === undefined ? null : endpointOf(projectId),
    }),
  };
}

/** Throws `empty_config`, `empty_application_id` and `empty_bot_token`. */
function requireFilled(applicationId: string, publicKey: string, botToken: string): void {
  const [hasId, hasKey, hasToken] = [applicationId, publicKey, botToken].map((text) => text.trim() !== '');
  if (!hasId && !hasKey && !hasToken) throw new ApiError('empty_config');
  if (!hasId) throw new ApiError('empty_application_id', { param: 'application_id' });
  if (!hasToken) throw new ApiError('empty_bot_token', { param: 'bot_token' });
}
