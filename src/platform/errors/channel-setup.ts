/**
 * Channels: setup. A setup that the request depends on and that is missing is 422 throughout (*_unconfigured,
 * model_key_missing, no_saved_card): the request cannot succeed until someone completes it, and clients repeat a 409
 * or 503 by themselves.
 */
import type { ErrorTexts } from '../../kernel/http/errors.ts';

export const channelSetupErrors = {
  empty_config: {
    status: 422,
    message: 'The setup is empty. Send the members that this channel needs.',
  },
  empty_bot_token: {
    status: 422,
    message: 'The bot token is empty. Send the token that the provider issued for the bot.',
  },
  empty_application_id: {
    status: 422,
    message: 'The application id is empty. Copy it from the general information of the Discord application.',
  },
  bad_public_key: {
    status: 422,
    message:
      'The public key is not a valid Ed25519 key. Copy its 64 hexadecimal digits from the general information of the Discord application.',
  },
  telegram_bot_unconfigured: {
    status: 422,
    message: 'There is no Telegram bot for this project. Save its token with `PUT /v1/tenant/telegram` first.',
  },
  telegram_api_error: {
    status: 502,
    message: 'Telegram refused or failed the request. Check the bot token, then try again.',
  },
  slack_app_unconfigured: {
    status: 422,
    message: 'There is no Slack app for this project. Save it with `PUT /v1/tenant/slack` first.',
  },
  slack_factory_unconfigured: {
    status: 422,
    message:
      'There is nothing by which this project’s Slack apps are made. Save `config_token` and `config_refresh_token` with `PUT /v1/tenant/slack` first, or send `address` in place of `setup`.',
  },
  slack_oauth_unconfigured: {
    status: 422,
    message:
      'The Slack app has no OAuth client for installing it. Save its client id and secret with `PUT /v1/tenant/slack` first.',
  },
  slack_app_cap_reached: {
    status: 409,
    message:
      'No further Slack app can be created for this project. Delete a deployment that has one, or use a shared app.',
  },
  invalid_manifest_template: {
    status: 422,
    message: 'The template of the Slack app manifest is not valid. Correct it until Slack accepts it as a manifest.',
  },
  slack_api_error: {
    status: 502,
    message: "Slack refused or failed the request. Check the app's tokens and scopes, then try again.",
  },
  whatsapp_unconfigured: {
    status: 422,
    message: 'WhatsApp is not set up for this project. Save the business account with `PUT /v1/tenant/whatsapp` first.',
  },
  whatsapp_validation_failed: {
    status: 422,
    message:
      'WhatsApp does not accept these credentials. Check the access token, its permissions and the ids of the account and the phone number.',
  },
  whatsapp_subscribe_failed: {
    status: 502,
    message:
      "WhatsApp did not subscribe the app to the account's messages. Check the app's permissions, then save the setup again.",
  },
  whatsapp_api_error: {
    status: 502,
    message: 'WhatsApp refused or failed the request. Check the access token and the phone number, then try again.',
  },
  email_unconfigured: {
    status: 422,
    message: 'Email is not set up for this project. Save the mail service with `PUT /v1/tenant/email` first.',
  },
  email_send_failed: {
    status: 502,
    message: 'The mail service did not take the message. Check the address and the mail setup, then try again.',
  },
} as const satisfies ErrorTexts;
