/**
 * Slack on loopback: apps with their bots, people who write, and what they get to see. https://docs.slack.dev/reference/methods
 */
import { createHmac, randomBytes } from 'node:crypto';
import { type ProviderCall, type ProviderReply, type ProviderServer, startProvider } from './provider-server.ts';
import { createSlackFactory, type SlackFactory } from './slack-factory.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
type Json = any;

export interface FakeSlackApp {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly signingSecret: string;
  readonly botToken: string;
  readonly teamId: string;
  readonly botUserId: string;
  /** Of one that was made by its manifest. */
  readonly appId?: string;
}

export interface FakeSlackMessage {
  readonly ts: string;
  readonly channel: string;
  readonly thread: string | undefined;
  text: string;
  /** As it was sent. */
  sent: Json;
  readonly files: readonly { readonly title: string; readonly text: string }[];
}

export interface SignedCall {
  readonly body: string;
  readonly headers: Record<string, string>;
}

export interface SlackServer extends Pick<ProviderServer, 'url' | 'calls' | 'failNext' | 'misbehave' | 'close'> {
  addApp(): FakeSlackApp;
  /** By which apps are made. */
  readonly factory: SlackFactory;
  /** Somebody is in the workspace, and has a mail address. */
  addMember(teamId: string, email: string): string;
  /** As the app is saved. */
  bodyOf(app: FakeSlackApp): Json;
  /** A call of Slack's, of JSON or of a form. */
  sign(app: Pick<FakeSlackApp, 'signingSecret'>, content: Json | URLSearchParams, timestamp?: string): SignedCall;
  /** Somebody writes. */
  eventOf(app: FakeSlackApp, event: Json): Json;
  messagesIn(channel: string): readonly FakeSlackMessage[];
  /** What the bot was shown to do there. */
  statusesIn(channel: string): readonly string[];
  /** The bot is no member of it. */
  closeChannel(channel: string): void;
  /** Somebody agrees to the installation that an address asks for: what Slack would have the browser bring. */
  agree(
    installUrl: string,
    installed?: { readonly teamId?: string; readonly userId?: string; readonly more?: Json },
  ): URL;
  /** Nothing can be streamed there. */
  stopStreamsIn(channel: string): void;
  /** Its address, which opens with the bot's token. */
  addFile(text: string): string;
  /** As a message of a channel that two companies share tells of the file: `files.info` tells the rest. */
  shareFile(file: Json): Json;
}

/** Of an edit. */
const MAX_EDIT_CHARS = 4_000;

let made = 0;

/** As Slack makes them: a letter for what it is, and capitals. */
export function newSlackId(letter: string): string {
  made += 1;
  return `${letter}${randomBytes(4).toString('hex').toUpperCase()}${made}`;
}

/** Of a message: seconds, and a number that nobody else has. */
export function newTs(): string {
  made += 1;
  return `${Math.floor(Date.now() / 1_000)}.${String(made).padStart(6, '0')}`;
}

export async function startSlack(): Promise<SlackServer> {
  const apps: FakeSlackApp[] = [];
  const messages: FakeSlackMessage[] = [];
  const statuses: { readonly channel: string; readonly status: string }[] = [];
  const closed = new Set<string>();
  const files = new Map<string, string>();
  const streaming = new Set<string>();
  const unstreamed = new Set<string>();
  const codes = new Map<string, Json>();
  const installed = new Map<string, FakeSlackApp>();
  const shared = new Map<string, Json>();
  const members = new Map<string, string>();
  const factory = createSlackFactory(addApp);
  const uploads = new Map<string, { readonly filename: string; readonly length: number; text?: string }>();

  const methods: Record<string, (args: Json, app: FakeSlackApp) => Json> = {
    'auth.test': (_, { teamId, botUserId }) => ({ team: 'Acme', team_id: teamId, user_id: botUserId, bot_id: 'B1' }),
    'chat.postMessage': (args) => {
      if (closed.has(args.channel)) return refuse('not_in_channel');
      return { channel: args.channel, ts: say(args.channel, args.thread_ts, args).ts };
    },
    'chat.update': (args) => {
      const message = find(args);
      if (message === undefined) return refuse('message_not_found');
      if (streaming.has(message.ts)) return refuse('streaming_state_conflict');
      if (args.text.length > MAX_EDIT_CHARS) return refuse('msg_too_long');
      Object.assign(message, { text: args.text, sent: readArguments(args) });
      return { ts: message.ts };
    },
    'chat.delete': (args) => {
      const message = find(args);
      if (message === undefined) return refuse('message_not_found');
      messages.splice(messages.indexOf(message), 1);
      return {};
    },
    'chat.startStream': (args) => {
      if (args.recipient_user_id === undefined || unstreamed.has(args.channel))
        return refuse('channel_type_not_supported');
      const { ts } = say(args.channel, args.thread_ts, { text: '' });
      streaming.add(ts);
      return { ts };
    },
    'chat.appendStream': (args) => {
      const message = find(args);
      if (message === undefined || !streaming.has(message.ts)) return refuse('message_not_in_streaming_state');
      message.text += args.markdown_text;
      return {};
    },
    'chat.stopStream': ({ ts }) => (streaming.delete(ts) ? {} : refuse('message_not_in_streaming_state')),
    'users.lookupByEmail': ({ email }, { teamId }) => {
      const id = members.get(`${teamId}:${email}`);
      return id === undefined ? refuse('users_not_found') : { user: { id } };
    },
    'conversations.history': ({ channel }) => ({ messages: shown(channel, undefined) }),
    'conversations.replies': ({ channel, ts }) => ({ messages: shown(channel, ts) }),
    'files.info': ({ file }) => (shared.has(file) ? { file: shared.get(file) } : refuse('file_not_found')),
    'files.getUploadURLExternal': ({ filename, length }) => {
      const file_id = newSlackId('F');
      uploads.set(file_id, { filename, length: Number(length) });
      return { file_id, upload_url: `${server.url}/upload/${file_id}` };
    },
    'files.completeUploadExternal': (args) => {
      const named: Json[] = JSON.parse(args.files);
      const brought = named.map(({ id, title }) => ({ title, text: uploads.get(id)?.text }));
      if (brought.some(({ text }) => text === undefined)) return refuse('file_not_found');
      say(args.channel_id, args.thread_ts, { text: '' }, brought as { title: string; text: string }[]);
      return { files: named };
    },
    'assistant.threads.setStatus': ({ channel_id: channel, status }) => {
      statuses.push({ channel, status });
      return {};
    },
  };

  function find({ channel, ts }: Json): FakeSlackMessage | undefined {
    return messages.find((message) => message.channel === channel && message.ts === ts);
  }

  function say(channel: string, thread: string | undefined, sent: Json, brought: FakeSlackMessage['files'] = []) {
    const message = { ts: newTs(), channel, thread, text: sent.text, sent: readArguments(sent), files: brought };
    messages.push(message);
    return message;
  }

  function shown(channel: string, thread: string | undefined): Json[] {
    return messages
      .filter((message) => message.channel === channel && message.thread === thread)
      .map(({ ts, text, sent, files: brought }) => ({
        ...{ type: 'message', bot_id: 'B1', ts, text, metadata: sent.metadata },
        ...(brought.length > 0 && { files: brought }),
      }));
  }

  async function answer(call: ProviderCall): Promise<ProviderReply> {
    const { pathname } = call.url;
    if (pathname.startsWith('/upload/')) return takeUpload(call, pathname.slice('/upload/'.length));
    if (pathname.startsWith('/commands/')) return respond(call, pathname.slice('/commands/'.length));
    const token = call.headers.authorization?.slice('Bearer '.length);
    const app = appOf(token);
    if (pathname.startsWith('/files/')) {
      if (app === undefined) return { status: 200, text: '<!doctype html>', headers: { 'content-type': 'text/html' } };
      const text = files.get(pathname.slice('/files/'.length));
      return { status: text === undefined ? 404 : 200, text: text ?? '', headers: { 'content-type': 'image/png' } };
    }
    const made = factory.answer(pathname.slice('/api/'.length), call.body ?? {}, token);
    if (made !== undefined) return { status: 200, body: made };
    return { status: 200, body: answerMethod(pathname.slice('/api/'.length), call.body ?? {}, app) };
  }

  function addApp(): FakeSlackApp {
    const app = {
      clientId: `${1_000_000 + apps.length}.${randomBytes(6).readUIntBE(0, 6)}`,
      clientSecret: randomBytes(16).toString('hex'),
      signingSecret: randomBytes(16).toString('hex'),
      botToken: `xoxb-${randomBytes(12).toString('hex')}`,
      teamId: newSlackId('T'),
      botUserId: newSlackId('U'),
    };
    apps.push(app);
    return app;
  }

  function appOf(token: string | undefined): FakeSlackApp | undefined {
    return apps.find(({ botToken }) => botToken === token) ?? installed.get(token ?? '');
  }

  function answerMethod(method: string, args: Json, app: FakeSlackApp | undefined): Json {
    if (method === 'oauth.v2.access') return { ok: true, ...exchange(args) };
    const run = methods[method];
    if (run === undefined) return { ok: false, error: 'unknown_method' };
    if (app === undefined) return { ok: false, error: 'invalid_auth' };
    return { ok: true, ...run(args, app) };
  }

  function exchange({ client_id, client_secret, code, redirect_uri }: Json): Json {
    const app = apps.find(({ clientId }) => clientId === client_id);
    if (app === undefined) return refuse('invalid_client_id');
    if (app.clientSecret !== client_secret) return refuse('bad_client_secret');
    const found = codes.get(code);
    if (found === undefined || found.clientId !== client_id) return refuse('invalid_code');
    if (found.redirectUrl !== redirect_uri) return refuse('bad_redirect_uri');
    codes.delete(code);
    const { teamId, userId, scope, more } = found;
    const access_token = `xoxb-${randomBytes(12).toString('hex')}`;
    installed.set(access_token, { ...app, teamId });
    return {
      ...{ access_token, token_type: 'bot', scope, bot_user_id: app.botUserId, app_id: app.appId ?? 'A012ABCD0' },
      ...{ team: { id: teamId, name: 'Acme' }, enterprise: null, is_enterprise_install: false },
      ...{ authed_user: { id: userId }, ...more },
    };
  }

  function takeUpload({ file }: ProviderCall, id: string): ProviderReply {
    const place = uploads.get(id);
    if (place === undefined || file === undefined) return { status: 404, text: 'no such place' };
    if (Buffer.byteLength(file.text) !== place.length) return { status: 400, text: 'another length' };
    place.text = file.text;
    return { status: 200, text: `OK - ${place.length}` };
  }

  function respond({ body }: ProviderCall, channel: string): ProviderReply {
    say(channel, undefined, body);
    return { status: 200, text: 'ok' };
  }

  const server = await startProvider(answer);
  return {
    url: server.url,
    calls: server.calls,
    failNext: server.failNext,
    misbehave: server.misbehave,
    close: server.close,
    addApp,
    factory,
    addMember(teamId, email) {
      const id = newSlackId('U');
      members.set(`${teamId}:${email}`, id);
      return id;
    },
    bodyOf: ({ clientId, clientSecret, signingSecret, botToken }) => ({
      client_id: clientId,
      client_secret: clientSecret,
      signing_secret: signingSecret,
      bot_token: botToken,
      api_base_url: server.url,
    }),
    sign({ signingSecret }, content, timestamp = String(Math.floor(Date.now() / 1_000))) {
      const isForm = content instanceof URLSearchParams;
      const body = isForm ? content.toString() : JSON.stringify(content);
      const hex = createHmac('sha256', signingSecret).update(`v0:${timestamp}:${body}`).digest('hex');
      const headers = {
        'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
        'x-slack-request-timestamp': timestamp,
        'x-slack-signature': `v0=${hex}`,
      };
      return { body, headers };
    },
    eventOf({ teamId, botUserId }, event) {
      return {
        token: 'verification-token',
        team_id: teamId,
        api_app_id: 'A1',
        event,
        type: 'event_callback',
        event_id: newSlackId('Ev'),
        event_time: Math.floor(Date.now() / 1_000),
        authorizations: [{ enterprise_id: null, team_id: teamId, user_id: botUserId, is_bot: true }],
      };
    },
    messagesIn: (channel) => messages.filter((message) => message.channel === channel),
    statusesIn: (channel) => statuses.filter((each) => each.channel === channel).map(({ status }) => status),
    agree(installUrl, { teamId = newSlackId('T'), userId = newSlackId('U'), more = {} } = {}) {
      const { searchParams } = new URL(installUrl);
      const [clientId, redirectUrl] = [searchParams.get('client_id'), searchParams.get('redirect_uri') ?? ''];
      const code = randomBytes(12).toString('hex');
      codes.set(code, { clientId, redirectUrl, teamId, userId, scope: searchParams.get('scope'), more });
      const back = new URL(redirectUrl);
      back.searchParams.set('code', code);
      back.searchParams.set('state', searchParams.get('state') ?? '');
      return back;
    },
    shareFile(file) {
      const id = newSlackId('F');
      shared.set(id, { id, ...file });
      return { id, mode: 'file_access', file_access: 'check_file_info', created: 0, timestamp: 0, user: '' };
    },
    closeChannel: (channel) => void closed.add(channel),
    stopStreamsIn: (channel) => void unstreamed.add(channel),
    addFile(text) {
      const id = newSlackId('F');
      files.set(id, text);
      return `${server.url}/files/${id}`;
    },
  };
}

function refuse(error: string): Json {
  return { ok: false, error };
}

/** Arguments are a form, in which what is no text is JSON. */
function readArguments(args: Json): Json {
  const read = (value: unknown) => {
    if (typeof value !== 'string' || !/^[[{]|^(true|false)$/.test(value)) return value;
    try {
      return JSON.parse(value);
    } catch {
      return value;
    }
  };
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, read(value)]));
}
