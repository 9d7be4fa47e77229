/**
 * The messaging channels as tests of faults use them: each an account at a provider on loopback which answers badly, and people
 * who write there, every one with the number by which the test knows them.
 */
import assert from 'node:assert/strict';
import { newId, startDiscord } from '../fakes/discord-api.ts';
import { INBOUND_SECRET, startMailWorld } from '../fakes/mail-world.ts';
import type { ProviderFault } from '../fakes/provider-faults.ts';
import { newSlackId, newTs, startSlack } from '../fakes/slack-api.ts';
import { startTelegram } from '../fakes/telegram-server.ts';
import { signTwilio, smsTo, startTwilio } from '../fakes/twilio-api.ts';
import { changeOf, signWebhook, startGraph, textFrom } from '../fakes/whatsapp-graph.ts';
import type { TestProject } from '../support/platform.ts';
import { patiently } from './fleet.ts';

/** `nothing`: the connection ends, and nothing was done. `lost`: it ends once everything was. */
export type BadDay = '429' | '500' | 'garbage' | 'nothing' | 'lost' | undefined;

export interface ChannelKind {
  readonly kind: string;
  /** The provider can be asked whether a message has arrived: it may lose answers too. */
  readonly canLookUp: boolean;
  /** Saves the account, and has the agent take everybody who writes to it. `serverUrl`: where the provider may call back. */
  connect(project: TestProject, agentId: string, serverUrl: string): Promise<void>;
  misbehave(how: () => BadDay): void;
  /** A message that is yet to be delivered; `index`: of its sender, from 0. */
  compose(sender: number, index: number, text: string): Promise<Deliver>;
  /** What the sender has been told, oldest first. */
  told(sender: number): readonly string[];
  /** Where an answer is shown while it is written, in a message. */
  readonly live?: {
    compose(sender: number, text: string): Promise<Deliver>;
    /** What stands where the sender has written. */
    standing(sender: number): readonly string[];
  };
  close(): Promise<void>;
}

/** Brings the message to one server, however often it was brought before. Answers the status. */
export type Deliver = (serverUrl: string) => Promise<number>;

export interface ChannelKinds {
  readonly kinds: readonly ChannelKind[];
  /** What the servers have to be told of the test's own world. */
  readonly variables: Readonly<Record<string, string>>;
}

/** What servers believe to be reached by. */
const PUBLIC_URL = 'https://127.0.0.1';
/** Seconds. */
const PATIENCE = { 'retry-after': '1' };

export async function startChannelKinds(): Promise<ChannelKinds> {
  const mail = await openMail();
  const kinds = await Promise.all([openTelegram(), openDiscord(), openWhatsApp(), openSlack(), openSms()]);
  return {
    kinds: [...kinds, mail.kind],
    variables: { IRONCRAFT_PUBLIC_URL: PUBLIC_URL, ...mail.variables },
  };
}

async function openTelegram(): Promise<ChannelKind> {
  const telegram = await startTelegram();
  const token = telegram.newToken();
  const chatOf = (sender: number) => 700_000 + sender;
  const told = new Map<number, string[]>();
  let projectId = '';
  return {
    ...{ kind: 'telegram', canLookUp: false, close: telegram.close },
    async connect(project, agentId) {
      projectId = project.projectId;
      await save(project, 'telegram', { bot_token: token, api_base_url: onLoopback(telegram.url) });
      await deploy(project, agentId, { kind: 'telegram' });
    },
    misbehave: (how) =>
      telegram.misbehave(({ method, payload }) => {
        const day = how();
        if (day === '429') return { error_code: 429, description: 'Too Many Requests', parameters: { retry_after: 1 } };
        if (day === '500') return { error_code: 500, description: 'Internal Server Error' };
        if (day !== undefined) return day === 'garbage' ? day : 'cut';
        const chat = Number(payload.chat_id);
        if (method === 'sendMessage') told.set(chat, [...(told.get(chat) ?? []), String(payload.text)]);
        return undefined;
      }),
    compose: (sender, index, text) => compose(sender, index, { text, chat: { id: chatOf(sender), type: 'private' } }),
    told: (sender) => told.get(chatOf(sender)) ?? [],
    live: {
      compose(sender, text) {
        const reply_to_message = { from: { id: Number(token.split(':')[0]) } };
        return compose(sender, 0, { text, chat: { id: -chatOf(sender), type: 'group' }, reply_to_message });
      },
      standing: (sender) => telegram.standingIn(-chatOf(sender)),
    },
  };

  async function compose(sender: number, index: number, said: object): Promise<Deliver> {
    const from = { id: chatOf(sender), is_bot: false, first_name: `Sender ${sender}` };
    const update_id = sender * 10_000 + index + 1;
    const message = { message_id: update_id, date: 1_780_000_000, from, ...said };
    const secret = telegram.webhookOf(token)?.secret_token ?? assert.fail('there is no webhook');
    const headers = { ...JSON_BODY, 'x-telegram-bot-api-secret-token': secret };
    return post(`/v1/telegram/webhook/${projectId}`, headers, JSON.stringify({ update_id, message }));
  }
}

async function openDiscord(): Promise<ChannelKind> {
  let origin = '';
  const discord = await startDiscord({ reach: (url) => url.replace(PUBLIC_URL, origin) });
  const application = discord.addApplication();
  const firstId = BigInt(newId());
  const [userOf, channelOf] = [0n, 1_000_000n].map(
    (offset) => (sender: number) => String(firstId + offset + BigInt(sender)),
  ) as [(sender: number) => string, (sender: number) => string];
  let path = '';
  return {
    ...{ kind: 'discord', canLookUp: true, close: discord.close },
    async connect(project, agentId, serverUrl) {
      origin = serverUrl;
      path = `/v1/discord/webhook/${project.projectId}`;
      await save(project, 'discord', { ...discord.bodyOf(application), api_base_url: onLoopback(discord.url) });
      await deploy(project, agentId, { kind: 'discord' });
    },
    misbehave: (how) => discord.misbehave(() => faultOf(how(), { retry_after: 1, global: false })),
    compose: (sender, _index, text) => compose(sender, text),
    live: { compose, standing: (sender) => discord.messagesIn(channelOf(sender)).map(({ content }) => content) },
    told: (sender) =>
      discord
        .messagesIn(channelOf(sender))
        .filter(({ written }) => written > 0)
        .sort((a, b) => a.written - b.written)
        .map(({ content }) => content),
  };

  async function compose(sender: number, message: string): Promise<Deliver> {
    const data = { name: 'ask', options: [{ name: 'message', type: 3, value: message }] };
    const typed = { userId: userOf(sender), channelId: channelOf(sender), data };
    const interaction = discord.interactionOf(application, typed);
    return async (serverUrl) => (await discord.bring(application, interaction, serverUrl + path)).status;
  }
}

async function openWhatsApp(): Promise<ChannelKind> {
  const graph = await startGraph();
  const number = graph.addNumber();
  const phoneOf = (sender: number) => `4915112${String(sender).padStart(6, '0')}`;
  return {
    ...{ kind: 'whatsapp', canLookUp: false, close: graph.close },
    async connect(project, agentId) {
      await save(project, 'whatsapp', { ...graph.bodyOf(number), api_base_url: onLoopback(graph.url) });
      await deploy(project, agentId, { kind: 'whatsapp' });
    },
    misbehave: (how) => graph.misbehave(() => faultOf(how(), { error: { code: 130_429, message: 'Rate limit hit' } })),
    async compose(sender, _index, text) {
      const { bytes, headers } = signWebhook([changeOf(number, textFrom(phoneOf(sender), text))], number.app_secret);
      return post('/v1/whatsapp/webhook', { ...JSON_BODY, ...headers }, bytes.toString());
    },
    told: (sender) =>
      graph.delivered.filter(({ to }) => to === phoneOf(sender)).map(({ message }) => String(message.text?.body)),
  };
}

async function openSlack(): Promise<ChannelKind> {
  const slack = await startSlack();
  const app = slack.addApp();
  const [user, direct, channel] = [newSlackId('U'), newSlackId('D'), newSlackId('C')];
  const userOf = (sender: number) => `${user}X${sender}`;
  const channelOf = (sender: number) => `${direct}X${sender}`;
  const threadsOf = (sender: number) => `${channel}X${sender}`;
  let projectId = '';
  return {
    ...{ kind: 'slack', canLookUp: true, close: slack.close },
    async connect(project, agentId) {
      projectId = project.projectId;
      await save(project, 'slack', { ...slack.bodyOf(app), api_base_url: onLoopback(slack.url) });
      await deploy(project, agentId, { kind: 'slack' });
    },
    misbehave: (how) => slack.misbehave(() => faultOf(how(), { ok: false, error: 'ratelimited' })),
    compose: (sender, _index, text) =>
      compose({ type: 'message', channel_type: 'im', channel: channelOf(sender), user: userOf(sender), text }),
    // Marked as a part of an answer: not what is shown before.
    told: (sender) =>
      slack
        .messagesIn(channelOf(sender))
        .filter(({ sent }) => sent.metadata !== undefined)
        .map(({ text }) => text),
    // Of a mention, in a thread: as a stream.
    live: {
      compose: (sender, text) =>
        compose({ type: 'app_mention', channel: threadsOf(sender), user: userOf(sender), text }),
      standing: (sender) => slack.messagesIn(threadsOf(sender)).map(({ text }) => text),
    },
  };

  async function compose(written: object): Promise<Deliver> {
    const event = slack.eventOf(app, { ...written, ts: newTs() });
    // Repeated with the clock of the repetition: the signature is good for five minutes.
    return (serverUrl) => {
      const { headers, body } = slack.sign(app, event);
      return post(`/v1/slack/webhook/${projectId}`, headers, body)(serverUrl);
    };
  }
}

async function openSms(): Promise<ChannelKind> {
  const twilio = await startTwilio();
  const number = twilio.addNumber();
  const settings = twilio.settingsOf(number);
  const phoneOf = (sender: number) => `+4915113${String(sender).padStart(6, '0')}`;
  let projectId = '';
  return {
    ...{ kind: 'sms', canLookUp: true, close: twilio.close },
    async connect(project, agentId) {
      projectId = project.projectId;
      const provider_metadata = { ...settings.provider_metadata, api_base_url: onLoopback(twilio.url) };
      await deploy(project, agentId, { kind: 'sms', ...settings, provider_metadata });
    },
    misbehave: (how) => twilio.misbehave(() => faultOf(how(), { code: 20_429, message: 'Too many requests' })),
    async compose(sender, _index, text) {
      const path = `/v1/sms/webhook/${projectId}`;
      const fields = smsTo(number, phoneOf(sender), text);
      const type = { 'content-type': 'application/x-www-form-urlencoded' };
      const headers = { ...type, ...signTwilio(number.auth_token, PUBLIC_URL + path, fields) };
      return post(path, headers, new URLSearchParams(fields).toString());
    },
    told: (sender) => twilio.delivered.filter(({ to }) => to === phoneOf(sender)).map(({ body }) => body),
  };
}

async function openMail(): Promise<{ readonly kind: ChannelKind } & Pick<ChannelKinds, 'variables'>> {
  const mail = await startMailWorld();
  const account = mail.bodyOf();
  const mailbox = `support@${account.domain}`;
  const addressOf = (sender: number) => `sender${sender}@people.example`;
  const idOf = (sender: number, index: number) => `<m${index}.s${sender}@people.example>`;
  let projectId = '';
  const kind: ChannelKind = {
    ...{ kind: 'email', canLookUp: false, close: mail.close },
    async connect(project, agentId) {
      projectId = project.projectId;
      await save(project, 'email', { ...account, smtp_url: onLoopback(account.smtp_url) });
      await deploy(project, agentId, { kind: 'email', address: mailbox });
    },
    misbehave: (how) =>
      mail.smtp.misbehave(() => {
        const day = how();
        if (day === undefined || day === 'garbage') return day;
        return day === '429' || day === '500' ? 'later' : 'cut';
      }),
    async compose(sender, index, text) {
      const messageId = idOf(sender, index);
      // All of a sender's are one conversation.
      const thread = index === 0 ? {} : { References: idOf(sender, 0), 'In-Reply-To': idOf(sender, 0) };
      const raw = await mail.write({ from: addressOf(sender), to: mailbox, text, messageId, headers: thread });
      const headers = { 'content-type': 'message/rfc822', 'x-ic-inbound-secret': INBOUND_SECRET };
      return post(`/v1/email/inbound/${projectId}`, headers, raw.toString());
    },
    // Without its header, whose signature may look like anything; lines are folded where they are long.
    told: (sender) =>
      mail
        .sentTo(addressOf(sender))
        .map(({ content }) => content.slice(content.indexOf('\r\n\r\n')).replaceAll('=\r\n', '')),
  };
  return { kind, variables: { IRONCRAFT_DNS_SERVERS: mail.dns.address, IRONCRAFT_MAIL_DOMAIN_PROOF: 'none' } };
}

const JSON_BODY = { 'content-type': 'application/json' };

function post(path: string, headers: Readonly<Record<string, string>>, body: string): Deliver {
  return async (serverUrl) => (await fetch(serverUrl + path, { method: 'POST', headers, body })).status;
}

function faultOf(day: BadDay, busy: object): ProviderFault | undefined {
  switch (day) {
    case '429':
      return { status: 429, headers: PATIENCE, body: busy };
    case '500':
      return { status: 500 };
    case 'nothing':
      return 'cut';
    case 'lost':
      return 'cut after';
    default:
      return day;
  }
}

/** Names of examples are looked up as this machine by servers of tests alone that run in the test's own process. */
function onLoopback(url: string): string {
  return url.replace('example.com', '127.0.0.1');
}

async function save(project: TestProject, kind: string, body: object): Promise<void> {
  const saved = await patiently(() => project.put(`/v1/tenant/${kind}`, body));
  assert.equal(saved.status, 200, saved.text);
}

async function deploy(project: TestProject, agentId: string, body: object): Promise<void> {
  const target = { type: 'agent', id: agentId };
  const made = await patiently(() => project.post('/v1/deployments', { target, ...body }));
  assert.equal(made.status, 201, made.text);
}
