/**
 * What Slack is told of an app that is made for a smith: the project's template, in which the name, the addresses and what the
 * channel cannot do without are ours.
 */
import { ApiError } from '../../../../kernel/http/errors.ts';
import { parseJsonText } from '../../../../kernel/http/json-body.ts';
import type { JsonObject } from '../../../tables.ts';
import { asObject, objectAt, objectsAt } from '../../provider/read-json.ts';
import { BOT_SCOPES, redirectUrlOf } from '../install-link.ts';

/** As Slack has it. */
export const MAX_APP_NAME_CHARS = 35;
const PARAM = 'manifest_template';
/** Without them no message comes in, or no answer goes out. Commands, and what shows that somebody writes, are not for all. */
const NEEDED_SCOPES = BOT_SCOPES.filter((scope) => scope !== 'commands' && scope !== 'assistant:write');
/** By which the owner's address becomes a member. */
const OWNER_SCOPES = ['users:read', 'users:read.email'];
const BOT_EVENTS = [
  'app_mention',
  'app_uninstalled',
  'message.channels',
  'message.groups',
  'message.im',
  'message.mpim',
  'tokens_revoked',
];

const USUAL: JsonObject = {
  features: {
    app_home: { home_tab_enabled: false, messages_tab_enabled: true, messages_tab_read_only_enabled: false },
  },
  oauth_config: { scopes: { bot: NEEDED_SCOPES } },
};

/** Throws `invalid_manifest_template`. */
export function readManifestTemplate(text: string | undefined): JsonObject {
  if (text === undefined) return USUAL;
  let template: unknown;
  try {
    template = parseJsonText(text);
  } catch (error) {
    throw invalidTemplate('it is no JSON', error);
  }
  if (template === null || typeof template !== 'object' || Array.isArray(template)) {
    throw invalidTemplate('it is no JSON object');
  }
  const scopes = textsAt(objectAt(objectAt(template, 'oauth_config'), 'scopes'), 'bot');
  const missing = NEEDED_SCOPES.filter((scope) => !scopes.includes(scope));
  if (missing.length === 0) return asObject(template);
  throw invalidTemplate(`\`oauth_config.scopes.bot\` lacks ${missing.join(', ')}`);
}

export function invalidTemplate(why: string, cause?: unknown): ApiError {
  const message = `\`${PARAM}\` is refused: ${why}. Export the manifest of an app that works, and send it as a text of JSON.`;
  return new ApiError('invalid_manifest_template', { param: PARAM, message, cause });
}

/** An app as its manifest tells it. */
export interface ToldApp {
  readonly deploymentId: string;
  readonly name: string;
  /** Its owner is looked up by a mail address. */
  readonly hasOwner: boolean;
}

/** The addresses at which this server is. */
export interface OwnAddresses {
  readonly publicUrl: string;
  readonly projectId: string;
}

function appWebhookUrl({ publicUrl, projectId }: OwnAddresses, deploymentId: string): string {
  return `${publicUrl}/v1/slack/webhook/${projectId}/${deploymentId}`;
}

/** Both as they are asked for when somebody installs the app. */
export interface AppScopes {
  readonly bot: readonly string[];
  readonly user: readonly string[];
}

export function composeManifest(
  template: JsonObject,
  at: OwnAddresses,
  { deploymentId, name, hasOwner }: ToldApp,
): { readonly manifest: JsonObject; readonly scopes: AppScopes } {
  const { features, oauth_config: oauth, settings } = template;
  const url = appWebhookUrl(at, deploymentId);
  const scopes = {
    bot: [...new Set([...textsAt(objectAt(oauth, 'scopes'), 'bot'), ...(hasOwner ? OWNER_SCOPES : [])])],
    user: textsAt(objectAt(oauth, 'scopes'), 'user'),
  };
  const events = objectAt(settings, 'event_subscriptions');
  const commands = objectsAt(features, 'slash_commands').map((command) => ({ ...command, url }));
  const manifest = {
    ...template,
    display_information: { ...objectAt(template, 'display_information'), name },
    features: {
      ...asObject(features),
      bot_user: { always_online: true, ...objectAt(features, 'bot_user'), display_name: name },
      ...(commands.length > 0 && { slash_commands: commands }),
    },
    oauth_config: {
      ...asObject(oauth),
      redirect_urls: [redirectUrlOf(at.publicUrl, at.projectId)],
      scopes: { ...objectAt(oauth, 'scopes'), ...scopes },
    },
    settings: {
      ...asObject(settings),
      event_subscriptions: {
        ...events,
        request_url: url,
        bot_events: [...new Set([...textsAt(events, 'bot_events'), ...BOT_EVENTS])],
      },
      interactivity: { ...objectAt(settings, 'interactivity'), is_enabled: true, request_url: url },
      // Calls come over HTTP, tokens stay, and each workspace installs for itself.
      socket_mode_enabled: false,
      token_rotation_enabled: false,
      org_deploy_enabled: false,
    },
  };
  return { manifest, scopes };
}

function textsAt(value: JsonObject, name: string): readonly string[] {
  const list = value[name];
  return Array.isArray(list) ? list.filter((each): each is string => typeof each === 'string') : [];
}
