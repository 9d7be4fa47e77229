/**
 * What Slack's webhook says: an event, a command or a button, each of which may be a message to the smith. Bots are not heard:
 * two that answer each other would never end.
 */
import { ApiError } from '../../../kernel/http/errors.ts';
import { parseJsonText } from '../../../kernel/http/json-body.ts';
import type { JsonObject } from '../../tables.ts';
import type { InboundMessage } from '../channel.ts';
import { asObject, objectAt, objectsAt, textAt } from '../provider/read-json.ts';
import { readFile } from './attachment.ts';
import { readButton } from './buttons.ts';
import { addressOf, chatOf, isChannelId, isTeamId, isTs, isUserId } from './place.ts';
import { mentions, readSlackText } from './read-text.ts';

export type SlackCall =
  | {
      readonly kind: 'message';
      readonly message: InboundMessage;
      /** It says that it is for the bot; else it is where it hangs from a conversation with the bot. */
      readonly isForBot: boolean;
      /** Somebody waits for the answer to this very call. */
      readonly isCommand: boolean;
    }
  /** The app is gone from a workspace. */
  | { readonly kind: 'uninstalled'; readonly teamId: string }
  | { readonly kind: 'challenge'; readonly challenge: string }
  | { readonly kind: 'other' };

const OTHER: SlackCall = { kind: 'other' };
const FORM = /^application\/x-www-form-urlencoded\b/i;
const MAX_KEY_CHARS = 200;
/** Of messages: the others tell what became of one, or what somebody did. */
const SUBTYPES = new Set(['', 'file_share', 'me_message', 'thread_broadcast']);
const COMMANDS = new Set(['/new', '/stop']);

/** Throws `bad_webhook` for what is neither JSON nor a form. `botUserId`: who the bot is where the call does not say. */
export function readSlackCall(bytes: Buffer, contentType: string, botUserId: string | undefined): SlackCall {
  const text = decode(bytes);
  if (!FORM.test(contentType)) return readEventCall(asObject(parse(text)), botUserId);
  const form = Object.fromEntries(new URLSearchParams(text));
  const payload = textAt(form, 'payload');
  return payload === undefined ? readCommand(form) : readInteraction(asObject(parse(payload)));
}

function readEventCall(body: JsonObject, botUserId: string | undefined): SlackCall {
  const challenge = textAt(body, 'challenge');
  if (body.type === 'url_verification' && challenge !== undefined) return { kind: 'challenge', challenge };
  const { team_id: teamId } = body;
  if (body.type !== 'event_callback' || !isTeamId(teamId)) return OTHER;
  const event = objectAt(body, 'event');
  switch (event.type) {
    case 'app_uninstalled':
      return { kind: 'uninstalled', teamId };
    case 'tokens_revoked':
      // Of the bot: people take back their own without an effect on it.
      return Array.isArray(objectAt(event, 'tokens').bot) ? { kind: 'uninstalled', teamId } : OTHER;
    case 'app_mention':
    case 'message':
      return readMessage(body, teamId, event, botOf(body, teamId) ?? botUserId);
    default:
      return OTHER;
  }
}

/** Who the app is in the workspace, as Slack tells with each event. */
function botOf(body: JsonObject, teamId: string): string | undefined {
  const own = objectsAt(body, 'authorizations').find((each) => each.is_bot === true && each.team_id === teamId);
  return textAt(own, 'user_id');
}

function readMessage(body: JsonObject, teamId: string, event: JsonObject, botUserId: string | undefined): SlackCall {
  const { user, channel, ts, thread_ts: thread } = event;
  const isBots = event.bot_id !== undefined || event.bot_profile !== undefined || user === botUserId;
  if (isBots || !SUBTYPES.has(textAt(event, 'subtype') ?? '') || event.hidden === true) return OTHER;
  if (!isUserId(user) || !isChannelId(channel) || !isTs(ts)) return OTHER;
  const written = textAt(event, 'text') ?? '';
  const isDirect = event.channel_type === 'im';
  const isForBot = isDirect || event.type === 'app_mention' || mentions(written, botUserId);
  const threadTs = isTs(thread) ? thread : undefined;
  const isInThread = threadTs !== undefined && threadTs !== ts;
  if (!isForBot && !isInThread) return OTHER;
  return {
    kind: 'message',
    isForBot,
    isCommand: false,
    message: {
      // The mention and the message that holds it are one, and so are their repetitions.
      idempotencyKey: `${teamId}:${channel}:${ts}`,
      type: 'message',
      sender: addressOf(teamOf(event, teamId), user),
      // In a channel an answer hangs from what it answers.
      chat: chatOf({ teamId, channelId: channel, threadTs: isInThread ? threadTs : isDirect ? undefined : ts }),
      subject: isDirect ? user : `${user} in ${channel}`,
      text: readSlackText(written, botUserId),
      attachments: objectsAt(event, 'files').flatMap((file) => readFile(teamId, file) ?? []),
      data: withoutCredentials(body),
    },
  };
}

/** People of another workspace may write in a channel that both share. */
function teamOf(event: JsonObject, teamId: string): string {
  const told = event.user_team ?? event.team;
  return isTeamId(told) ? told : teamId;
}

function readCommand(form: JsonObject): SlackCall {
  const { team_id: teamId, user_id: user, channel_id: channel } = form;
  const command = textAt(form, 'command');
  const key = textAt(form, 'trigger_id');
  if (command === undefined || key === undefined) return OTHER;
  if (!isTeamId(teamId) || !isUserId(user) || !isChannelId(channel)) return OTHER;
  const who = textAt(form, 'user_name') ?? user;
  const where = textAt(form, 'channel_name');
  return {
    kind: 'message',
    isForBot: true,
    isCommand: true,
    message: {
      idempotencyKey: `${teamId}:command:${key.slice(0, MAX_KEY_CHARS)}`,
      type: 'command',
      sender: addressOf(teamId, user),
      chat: chatOf({ teamId, channelId: channel, threadTs: undefined }),
      subject: where === undefined || channel.startsWith('D') ? who : `${who} in #${where}`,
      text: COMMANDS.has(command.toLowerCase()) ? command : readSlackText(textAt(form, 'text') ?? '', undefined),
      attachments: [],
      reply: textAt(form, 'response_url'),
      data: withoutCredentials(form),
    },
  };
}

function readInteraction(payload: JsonObject): SlackCall {
  const [action] = objectsAt(payload, 'actions');
  const text = action === undefined ? undefined : readButton(action);
  if (payload.type !== 'block_actions' || text === undefined) return OTHER;
  const teamId = textAt(objectAt(payload, 'team'), 'id');
  const user = objectAt(payload, 'user');
  const container = objectAt(payload, 'container');
  const channel = textAt(container, 'channel_id');
  const pressedAt = textAt(action, 'action_ts');
  if (!isTeamId(teamId) || !isUserId(user.id) || !isChannelId(channel) || !isTs(pressedAt)) return OTHER;
  const thread = textAt(container, 'thread_ts') ?? textAt(objectAt(payload, 'message'), 'thread_ts');
  const who = textAt(user, 'username') ?? textAt(user, 'name') ?? user.id;
  const userTeam = isTeamId(user.team_id) ? user.team_id : teamId;
  return {
    kind: 'message',
    isForBot: true,
    isCommand: false,
    message: {
      idempotencyKey: `${teamId}:${channel}:${pressedAt}:${user.id}`,
      type: 'button',
      sender: addressOf(userTeam, user.id),
      chat: chatOf({ teamId, channelId: channel, threadTs: isTs(thread) ? thread : undefined }),
      subject: channel.startsWith('D') ? who : `${who} in ${channel}`,
      text,
      attachments: [],
      data: withoutCredentials(payload),
    },
  };
}

/** Open a dialog, answer in the app's name, prove to be Slack as it once was, or show a file to anybody. */
const CREDENTIALS = new Set(['token', 'response_url', 'response_urls', 'trigger_id', 'permalink_public']);

function withoutCredentials(value: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(value, (name, member) => (CREDENTIALS.has(name) ? undefined : member)));
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw unreadable(error);
  }
}

function parse(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch (error) {
    throw unreadable(error);
  }
}

function unreadable(cause: unknown): ApiError {
  return new ApiError('bad_webhook', { message: 'The body is neither JSON nor a form of text in UTF-8.', cause });
}
