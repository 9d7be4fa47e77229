import { closedObject, component, failsWith, missingFailsWith, nullable } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { checkWhatsAppNumber, disconnectWhatsAppNumber, GRAPH_URL, settingOf } from '../../channels/index.ts';
import type { AccountKind } from './account-kind.ts';
import { checkApiUrl } from './check-api-url.ts';
import type { AccountDependencies } from './dependencies.ts';
import { apiBaseUrl } from './schema.ts';

const MAX_TOKEN_CHARS = 1_024;
const INVALID = 'whatsapp_validation_failed';

function secret(description: string) {
  return Type.String({
    minLength: 1,
    maxLength: MAX_TOKEN_CHARS,
    description,
    ...failsWith(INVALID),
    ...missingFailsWith('empty_config'),
  });
}

function graphId(description: string) {
  return Type.String({
    pattern: '^[0-9]{1,32}$',
    description,
    ...failsWith(INVALID),
    ...missingFailsWith('empty_config'),
  });
}

const WhatsAppAccountIn = component(
  'WhatsAppAccountIn',
  closedObject({
    access_token: secret(
      'Of a system user, with `whatsapp_business_messaging` and `whatsapp_business_management`. Never shown again.',
    ),
    phone_number_id: graphId('Of the number, as the app’s API setup shows it. Not the number itself.'),
    business_account_id: graphId('Of the WhatsApp Business account that has the number.'),
    app_secret: secret('Of the Meta app, which signs its calls with it. Never shown again.'),
    verify_token: Type.Optional(
      nullable(Type.String({ minLength: 8, maxLength: MAX_TOKEN_CHARS }), {
        description:
          'A text of your own, which the app’s webhook settings have too: Meta asks for it when the callback URL is saved. Not needed where another project has set up the same app.',
      }),
    ),
    api_base_url: apiBaseUrl(GRAPH_URL),
  }),
);

export function whatsAppAccount(deps: AccountDependencies): AccountKind<typeof WhatsAppAccountIn> {
  return {
    kind: 'whatsapp',
    name: 'WhatsApp number',
    body: WhatsAppAccountIn,
    example: {
      access_token: 'EAAGexample',
      phone_number_id: '106540352242922',
      business_account_id: '102290129340398',
      app_secret: '0123456789abcdef0123456789abcdef',
      verify_token: 'a text of your own',
    },
    description:
      'Replaces the number, once Meta has said that the token may write from it, and subscribes the app to what is written ' +
      'there. Meta brings messages of all numbers to `webhook_url`: it is entered in the app’s webhook settings, with `verify_token`.',
    errors: ['empty_config', INVALID, 'whatsapp_subscribe_failed', 'whatsapp_api_error', 'invalid_url'],
    shown: {
      name: 'WhatsAppAccount',
      own: {
        phone_number_id: nullable(Type.String()),
        business_account_id: nullable(Type.String()),
        phone_number: nullable(Type.String(), { description: 'In E.164.' }),
        api_base_url: nullable(Type.String()),
      },
    },
    async check(_projectId, body) {
      const apiUrl = await checkApiUrl(deps.outbound, body.api_base_url, GRAPH_URL);
      return checkWhatsAppNumber(deps, {
        accessToken: body.access_token,
        phoneNumberId: body.phone_number_id,
        businessAccountId: body.business_account_id,
        appSecret: body.app_secret,
        verifyToken: body.verify_token ?? undefined,
        apiUrl,
      });
    },
    disconnect: (account) => disconnectWhatsAppNumber(deps, account),
    show: (row) => ({
      phone_number_id: row?.account_id ?? null,
      business_account_id: row === undefined ? null : settingOf(row.settings, 'business_account_id'),
      phone_number: row === undefined ? null : `+${settingOf(row.settings, 'number')}`,
      api_base_url: row === undefined ? null : settingOf(row.settings, 'api_base_url'),
      webhook_url: row === undefined ? null : `${deps.publicUrl}/v1/whatsapp/webhook`,
    }),
  };
}
