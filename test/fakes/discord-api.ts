/**
 * Discord on loopback: applications with their commands and their endpoint, people who type, and what they get to see.
 * https://docs.discord.com/developers/interactions/receiving-and-responding
 */
import { generateKeyPairSync, type KeyObject, randomInt, sign } from 'node:crypto';
import { type ProviderCall, type ProviderReply, type ProviderServer, startProvider } from './provider-server.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
type Json = any;

const VERSION = '/api/v10/';
const EPOCH_MS = 1_420_070_400_000n;
const LOADING = 128;
/** Of an interaction. */
const LIFETIME_MS = 15 * 60_000;
const PING = { id: '1', type: 1, version: 1 };

export interface FakeApplication {
  readonly application_id: string;
  readonly public_key: string;
  readonly bot_token: string;
}

export interface FakeMessage {
  readonly id: string;
  readonly channelId: string;
  content: string;
  flags: number;
  components: Json;
  files: { readonly filename: string; readonly text: string }[];
  readonly by: 'interaction' | 'bot';
  allowedMentions: Json;
  /** Which of all writings was its last; 0: none yet. */
  written: number;
}

export interface Typed {
  readonly userId: string;
  readonly channelId: string;
  readonly data: Json;
  /** 3: a button. Default 2: a command. */
  readonly type?: number;
  /** How long ago it was typed. */
  readonly agoMs?: number;
}

export interface TypedAnswer {
  readonly status: number;
  readonly body: Json;
  /** Of the interaction. */
  readonly id: string;
  readonly token: string;
}

export interface SignedBody {
  readonly bytes: Buffer;
  readonly headers: Record<string, string>;
}

export interface DiscordServer extends Pick<ProviderServer, 'url' | 'calls' | 'failNext' | 'misbehave' | 'close'> {
  /** `endpoint`: it has one already. */
  addApplication(options?: { readonly endpoint?: string }): FakeApplication;
  /** As the application is saved. */
  bodyOf(application: FakeApplication): Json;
  endpointOf(application: FakeApplication): string | null;
  commandsOf(application: FakeApplication): readonly string[];
  /** Somebody types: Discord calls the endpoint, and shows what it answers. */
  type(application: FakeApplication, typed: Typed): Promise<TypedAnswer>;
  /** Brings an interaction to this address: what it answers is shown once, however often it is brought. */
  bring(application: FakeApplication, interaction: Json, url: string): Promise<TypedAnswer>;
  signBody(application: FakeApplication, body: Json, timestamp?: string): SignedBody;
  interactionOf(application: FakeApplication, typed: Typed): Json;
  /** What stands in a channel; the private one of a person is `dm-<id>`. */
  messagesIn(channelId: string): readonly FakeMessage[];
  /** The bot may not write there. */
  closeChannel(channelId: string): void;
  addFile(text: string): string;
}

interface Application extends FakeApplication {
  readonly privateKey: KeyObject;
  readonly commands: Map<string, Json>;
  endpoint: string | null;
}

interface DiscordOptions {
  /** Endpoints have public addresses: where those of this server are really. */
  readonly reach?: (url: string) => string;
}

export async function startDiscord({ reach = (url) => url }: DiscordOptions = {}): Promise<DiscordServer> {
  const applications: Application[] = [];
  const messages: FakeMessage[] = [];
  const interactions = new Map<
    string,
    { application: Application; channelId: string; original?: FakeMessage; endsAt: number }
  >();
  const nonces = new Map<string, FakeMessage>();
  const closed = new Set<string>();
  const files = new Map<string, string>();
  let writings = 0;

  async function answer(call: ProviderCall): Promise<ProviderReply> {
    if (call.url.pathname.startsWith('/files/'))
      return { status: 200, text: files.get(call.url.pathname.slice(7)) ?? '' };
    const path = call.url.pathname.slice(VERSION.length);
    const [first, second = '', third, fourth] = path.split('/');
    if (first === 'webhooks') return answerWebhook(call, third ?? '', fourth);
    const application = applications.find(({ bot_token }) => call.headers.authorization === `Bot ${bot_token}`);
    if (application === undefined) return refuse(401, 0, '401: Unauthorized');
    if (path === 'applications/@me') return answerApplication(call, application);
    if (first === 'applications' && third === 'commands') {
      application.commands.set(call.body.name, call.body);
      return { status: 201, body: { ...call.body, id: newId() } };
    }
    if (path === 'users/@me/channels') return { status: 200, body: { id: `dm-${call.body.recipient_id}` } };
    if (first === 'channels' && third === 'messages')
      return answerChannel(call, application, decodeURIComponent(second), fourth);
    return refuse(404, 0, '404: Not Found');
  }

  async function answerApplication(call: ProviderCall, application: Application): Promise<ProviderReply> {
    if (call.method === 'PATCH') {
      const url: string | null = call.body.interactions_endpoint_url;
      if (url !== null && !(await isEndpoint(application, url))) {
        const _errors = [{ code: 'X', message: 'The specified interactions endpoint URL could not be verified.' }];
        return {
          status: 400,
          body: { code: 50035, message: 'Invalid Form Body', errors: { interactions_endpoint_url: { _errors } } },
        };
      }
      application.endpoint = url;
    }
    const { application_id: id, public_key: verify_key } = application;
    return { status: 200, body: { id, name: 'Helper', verify_key, bot: { id, username: 'helper' } } };
  }

  /** Discord sends a ping that is signed, and one that is not: an endpoint that takes both checks nothing. */
  async function isEndpoint(application: Application, url: string): Promise<boolean> {
    const good = signBody(application, PING);
    const first = await post(reach(url), good);
    const forged = { ...good.headers, 'x-signature-ed25519': 'ab'.repeat(64) };
    const second = await post(reach(url), { bytes: good.bytes, headers: forged });
    return first.status === 200 && first.body?.type === 1 && second.status === 401;
  }

  async function post(url: string, { bytes, headers }: SignedBody) {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: new Uint8Array(bytes),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  }

  function answerWebhook(call: ProviderCall, token: string, edge: string | undefined): ProviderReply {
    const interaction = interactions.get(decodeURIComponent(token));
    if (interaction === undefined || interaction.endsAt <= Date.now()) return refuse(404, 10015, 'Unknown Webhook');
    const { original, channelId } = interaction;
    if (edge === undefined) {
      return write(call, (content) => messages.push(content), { channelId, by: 'interaction' });
    }
    if (original === undefined) return refuse(404, 10008, 'Unknown Message');
    if (call.method === 'GET') return { status: 200, body: shown(original) };
    if (call.method === 'DELETE') {
      messages.splice(messages.indexOf(original), 1);
      delete interaction.original;
      return { status: 204 };
    }
    return write(call, (content) => Object.assign(original, content), original);
  }

  function answerChannel(
    call: ProviderCall,
    { application_id }: Application,
    channelId: string,
    id: string | undefined,
  ): ProviderReply {
    if (closed.has(channelId)) return refuse(403, 50001, 'Missing Access');
    if (id !== undefined) {
      const found = messages.find((message) => message.channelId === channelId && message.id === id);
      if (found === undefined) return refuse(404, 10008, 'Unknown Message');
      if (call.method !== 'DELETE') return write(call, (content) => Object.assign(found, content), found);
      messages.splice(messages.indexOf(found), 1);
      return { status: 204 };
    }
    if (call.method === 'GET') {
      return { status: 200, body: messages.filter((message) => message.channelId === channelId).map(shown) };
    }
    const nonce = `${application_id} ${call.body.nonce}`;
    const present = call.body.enforce_nonce === true ? nonces.get(nonce) : undefined;
    if (present !== undefined) return { status: 200, body: shown(present) };
    return write(call, (content) => messages.push(content) && nonces.set(nonce, content), { channelId, by: 'bot' });
  }

  function write(
    call: ProviderCall,
    keep: (message: FakeMessage) => unknown,
    { channelId, by, id = newId() }: Pick<FakeMessage, 'channelId' | 'by'> & { readonly id?: string },
  ): ProviderReply {
    const { content = '', components = [], allowed_mentions } = payloadOf(call);
    const ids = components.flatMap((row: Json) => row.components.map((button: Json) => button.custom_id));
    if (content.length > 2_000 || (content === '' && call.file === undefined))
      return refuse(400, 50035, 'Invalid Form Body');
    if (new Set(ids).size < ids.length || ids.some((id: string) => id.length > 100)) {
      return refuse(400, 50035, 'Component custom id cannot be duplicated');
    }
    const brought = call.file === undefined ? [] : [{ filename: call.file.filename, text: call.file.text }];
    writings += 1;
    const message: FakeMessage = {
      ...{ id, channelId, by, content, components, flags: 0, files: brought, written: writings },
      allowedMentions: allowed_mentions,
    };
    keep(message);
    return { status: 200, body: shown(message) };
  }

  function shown(message: FakeMessage): Json {
    return {
      id: message.id,
      content: message.content,
      flags: message.flags,
      timestamp: new Date().toISOString(),
      author: { id: applications[0]?.application_id },
      attachments: message.files.map(({ filename }) => ({ filename })),
    };
  }

  function signBody(
    application: FakeApplication,
    body: Json,
    timestamp = String(Math.floor(Date.now() / 1_000)),
  ): SignedBody {
    const { privateKey } = applicationOf(application);
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
    const signature = sign(null, Buffer.concat([Buffer.from(timestamp), bytes]), privateKey).toString('hex');
    return { bytes, headers: { 'x-signature-ed25519': signature, 'x-signature-timestamp': timestamp } };
  }

  function interactionOf(application: FakeApplication, { userId, channelId, data, type = 2, agoMs = 0 }: Typed): Json {
    return {
      ...{ id: newId(Date.now() - agoMs), application_id: application.application_id, type, data, version: 1 },
      ...{ token: `aW50ZXJ-${newId()}`, channel_id: channelId, channel: { id: channelId, name: 'general' } },
      member: { user: { id: userId, username: 'ada', global_name: 'Ada' } },
    };
  }

  function applicationOf({ application_id }: FakeApplication): Application {
    const found = applications.find((application) => application.application_id === application_id);
    if (found === undefined) throw new Error('no such application');
    return found;
  }

  async function bring(application: Application, interaction: Json, url: string): Promise<TypedAnswer> {
    const answered = await post(url, signBody(application, interaction));
    const { id, token, channel_id: channelId } = interaction;
    if (answered.body?.type === 5 && !interactions.has(token)) {
      const original: FakeMessage = {
        ...{ id: newId(), channelId, content: '', flags: LOADING, components: [], files: [], written: 0 },
        ...{ by: 'interaction', allowedMentions: undefined },
      };
      messages.push(original);
      interactions.set(token, { application, channelId, original, endsAt: timeOf(id) + LIFETIME_MS });
    }
    return { ...answered, id, token };
  }

  const server = await startProvider(answer);
  return {
    url: server.url,
    calls: server.calls,
    failNext: server.failNext,
    misbehave: server.misbehave,
    close: server.close,
    signBody,
    interactionOf,
    addApplication({ endpoint = null }: { readonly endpoint?: string | null } = {}) {
      const { publicKey, privateKey } = generateKeyPairSync('ed25519');
      const application: Application = {
        application_id: newId(),
        public_key: publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex'),
        bot_token: `bot-${newId()}`,
        privateKey,
        commands: new Map(),
        endpoint,
      };
      applications.push(application);
      return application;
    },
    bodyOf: ({ application_id, public_key, bot_token }) => ({
      application_id,
      public_key,
      bot_token,
      api_base_url: server.url,
    }),
    endpointOf: ({ application_id }) =>
      applications.find((application) => application.application_id === application_id)?.endpoint ?? null,
    commandsOf: ({ application_id }) => [
      ...(applications.find((application) => application.application_id === application_id)?.commands.keys() ?? []),
    ],
    async type(given, typed) {
      const application = applicationOf(given);
      if (application.endpoint === null) throw new Error('the application has no endpoint');
      return bring(application, interactionOf(given, typed), reach(application.endpoint));
    },
    bring: (given, interaction, url) => bring(applicationOf(given), interaction, url),
    messagesIn: (channelId) => messages.filter((message) => message.channelId === channelId),
    closeChannel: (channelId) => void closed.add(channelId),
    addFile(text) {
      const id = newId();
      files.set(id, text);
      return `${server.url}/files/${id}`;
    },
  };
}

function payloadOf({ body }: ProviderCall): Json {
  return typeof body?.payload_json === 'string' ? JSON.parse(body.payload_json) : (body ?? {});
}

function refuse(status: number, code: number, message: string): ProviderReply {
  return { status, body: { code, message } };
}

function timeOf(snowflake: string): number {
  return Number((BigInt(snowflake) >> 22n) + EPOCH_MS);
}

/** A snowflake of the time. */
export function newId(atMs = Date.now()): string {
  return String(((BigInt(atMs) - EPOCH_MS) << 22n) | BigInt(randomInt(1 << 22)));
}
