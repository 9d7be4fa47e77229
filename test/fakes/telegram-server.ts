/**
 * Telegram as far as a bot knows it: the methods of the Bot API that are used, files, and people who write. Every token is a
 * bot of its own, whose id is the number that it begins with. https://core.telegram.org/bots/api
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readForm, type SentFile } from './telegram-form.ts';

export interface ApiCall {
  readonly bot: string;
  readonly method: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into calls of every shape.
  readonly payload: any;
  /** Of a form. */
  readonly files: readonly SentFile[];
}

/** What a call is answered with in place of success; undefined: success. */
export type Misbehaviour = (call: ApiCall) => Answer | Promise<Answer>;
type Answer = Reply | 'hang' | 'cut' | 'garbage' | undefined;

interface Reply {
  readonly error_code: number;
  readonly description: string;
  readonly parameters?: { readonly retry_after?: number };
}

interface Webhook {
  readonly url: string;
  readonly secret_token: string;
  readonly allowed_updates: readonly string[];
}

/** A message as its sender writes it; Telegram adds the rest. */
export interface Said {
  readonly text?: string;
  /** The chat; a private one with the sender where it is left out. */
  readonly chat?: object;
  readonly from?: object;
  readonly [member: string]: unknown;
}

export interface FakeTelegram {
  readonly url: string;
  /** Every call of a bot, in order. */
  readonly calls: readonly ApiCall[];
  /** A token of a bot that nobody else uses. */
  newToken(): string;
  webhookOf(token: string): Webhook | undefined;
  /** Queues it, or brings it to the webhook; answers its status there. An update that was sent before is brought again. */
  say(token: string, said: Said | SentUpdate): Promise<{ readonly update: SentUpdate; readonly status: number }>;
  misbehave(how: Misbehaviour | undefined): void;
  /** Of a file that a message had. */
  putFile(fileId: string, content: Buffer): void;
  /** What was sent to the chat by these methods: `sendMessage` when they are left out. */
  sentTo(chatId: number, ...methods: readonly string[]): readonly ApiCall[];
  /** The text of a message as it stands now; undefined once it is deleted. */
  textOf(messageId: string | number): string | undefined;
  /** The texts that stand in the chat, oldest first. */
  standingIn(chatId: number): readonly string[];
  /** Resolves once so many were sent to the chat. */
  waitForSent(chatId: number, count: number): Promise<readonly ApiCall[]>;
  waitForCall(matches: (call: ApiCall) => boolean): Promise<ApiCall>;
  close(): Promise<void>;
}

interface SentUpdate {
  readonly update_id: number;
  readonly message: object;
}

interface TelegramOptions {
  /** Webhooks have public addresses: where those of this origin are really. */
  readonly reach?: (url: string) => string;
}

const LONGEST_HOLD_MS = 30_000;

/** Those of one server are unknown to the others of the process. */
const IDS_OF_A_SERVER = 1_000_000;
let started = 0;

export async function startTelegram({ reach = (url) => url }: TelegramOptions = {}): Promise<FakeTelegram> {
  const calls: ApiCall[] = [];
  const webhooks = new Map<string, Webhook>();
  const queues = new Map<string, SentUpdate[]>();
  const files = new Map<string, Buffer>();
  /** Texts by the id of their message, as they stand now. */
  const shownIn = new Map<number, string>();
  const chats = new Map<number, number>();
  const watchers = new Set<() => void>();
  const held = new Set<() => void>();
  let misbehaviour: Misbehaviour | undefined;
  started += 1;
  let nextId = started * IDS_OF_A_SERVER;
  const newId = () => ++nextId;
  const tell = (whom: Set<() => void>) => {
    for (const each of [...whom]) each();
  };

  const methods: Readonly<Record<string, (call: ApiCall) => unknown>> = {
    getMe: ({ bot }) => ({ id: Number(bot), is_bot: true, first_name: 'Bot', username: `Test_${bot}_bot` }),
    setWebhook: ({ bot, payload }) => {
      webhooks.set(bot, payload);
      return true;
    },
    deleteWebhook: ({ bot }) => {
      webhooks.delete(bot);
      return true;
    },
    sendMessage: ({ payload }) => {
      const message_id = newId();
      shownIn.set(message_id, payload.text);
      chats.set(message_id, Number(payload.chat_id));
      return { message_id, date: 0, chat: { id: payload.chat_id }, text: payload.text };
    },
    sendPhoto: ({ payload }) => ({ message_id: newId(), date: 0, chat: { id: payload.chat_id } }),
    sendDocument: ({ payload }) => ({ message_id: newId(), date: 0, chat: { id: payload.chat_id } }),
    sendChatAction: () => true,
    sendMessageDraft: () => true,
    editMessageText: ({ payload }) => {
      shownIn.set(payload.message_id, payload.text);
      return { message_id: payload.message_id, date: 0, chat: { id: payload.chat_id }, text: payload.text };
    },
    deleteMessage: ({ payload }) => shownIn.delete(payload.message_id),
    getFile: ({ payload }) => ({ file_id: payload.file_id, file_path: `documents/${payload.file_id}` }),
  };

  async function getUpdates({ bot, payload }: ApiCall, response: ServerResponse): Promise<unknown> {
    if (webhooks.has(bot)) return refuse(409, "Conflict: can't use getUpdates method while webhook is active");
    const take = () => {
      const waiting = (queues.get(bot) ?? []).filter(({ update_id }) => update_id >= (payload.offset ?? 0));
      queues.set(bot, waiting);
      return waiting;
    };
    if (take().length === 0 && payload.timeout > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.add(resolve);
      response.once('close', resolve);
      const timer = setTimeout(resolve, Math.min(payload.timeout * 1_000, LONGEST_HOLD_MS));
      while (take().length === 0 && held.has(resolve)) await promise.then(() => held.delete(resolve));
      clearTimeout(timer);
    }
    return { ok: true, result: take() };
  }

  async function answer(call: ApiCall, response: ServerResponse): Promise<unknown> {
    if (call.method === 'getUpdates') return getUpdates(call, response);
    const method = methods[call.method];
    if (method === undefined) return refuse(404, 'Not Found');
    const problem = problemOf(call, files) ?? editProblemOf(call, shownIn);
    return problem ?? { ok: true, result: method(call) };
  }

  const server = createServer(async (request, response) => {
    const [, token = '', rest = ''] = /^\/(?:file\/)?bot([^/]+)\/(.+)$/.exec(request.url ?? '') ?? [];
    const bot = /^(\d+):[\w-]{10,}$/.exec(token)?.[1];
    if (bot === undefined) return send(response, refuse(404, 'Not Found'));
    if (request.url?.startsWith('/file/'))
      return sendFile(response, files.get(decodeURIComponent(rest.split('/')[1] ?? '')));
    const { payload, files: sent } = await readPayload(request);
    const call: ApiCall = { bot, method: rest, payload, files: sent };
    const wrong = token.endsWith('revoked')
      ? { error_code: 401, description: 'Unauthorized' }
      : await misbehaviour?.(call);
    calls.push(call);
    tell(watchers);
    if (wrong === 'hang') return;
    if (wrong === 'cut') return void response.destroy();
    if (wrong === 'garbage') return void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hello</p>');
    send(response, wrong === undefined ? await answer(call, response) : { ok: false, ...wrong });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  async function until<T>(look: () => T | undefined): Promise<T> {
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      const { promise, resolve } = Promise.withResolvers<void>();
      watchers.add(resolve);
      await promise.finally(() => watchers.delete(resolve));
    }
  }

  const sentTo: FakeTelegram['sentTo'] = (chatId, ...names) => {
    const wanted = names.length === 0 ? ['sendMessage'] : names;
    return calls.filter(({ method, payload }) => wanted.includes(method) && Number(payload.chat_id) === chatId);
  };

  return {
    url: `http://example.com:${port}`,
    calls,
    sentTo,
    newToken: () => `${newId()}:AAExampleExampleExampleExample`,
    webhookOf: (token) => webhooks.get(token.split(':')[0] ?? ''),
    misbehave: (how) => {
      misbehaviour = how;
    },
    textOf: (messageId) => shownIn.get(Number(messageId)),
    standingIn: (chatId) => [...shownIn].filter(([id]) => chats.get(id) === chatId).map(([, text]) => text),
    putFile: (fileId, content) => void files.set(fileId, content),
    async say(token, said) {
      const bot = token.split(':')[0] ?? '';
      const update = 'update_id' in said ? (said as SentUpdate) : newUpdate(newId, said);
      const webhook = webhooks.get(bot);
      if (webhook === undefined) {
        queues.set(bot, [...(queues.get(bot) ?? []), update]);
        tell(held);
        return { update, status: 0 };
      }
      const { status } = await fetch(reach(webhook.url), {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': webhook.secret_token },
        body: JSON.stringify(update),
      });
      return { update, status };
    },
    waitForSent: (chatId, count) =>
      until(() => {
        const sent = sentTo(chatId);
        return sent.length >= count ? sent : undefined;
      }),
    waitForCall: (matches) => until(() => calls.find(matches)),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const ADA = { id: 4_711, is_bot: false, first_name: 'Ada', username: 'ada' };

function newUpdate(newId: () => number, { chat, from = ADA, ...said }: Said): SentUpdate {
  const { id, first_name } = from as { id: number; first_name?: string };
  const message = {
    message_id: newId(),
    date: 1_780_000_000,
    from,
    chat: chat ?? { id, type: 'private', first_name },
    ...said,
  };
  return { update_id: newId(), message };
}

function refuse(error_code: number, description: string) {
  return { ok: false, error_code, description };
}

const TAG = /<(\/?)(b|i|u|s|a|code|pre|blockquote)(?: (?:href|class)="[^"<>]*")?>/g;

/** What Telegram refuses of the contents. */
function problemOf({ method, payload, files: sent }: ApiCall, files: ReadonlyMap<string, Buffer>): object | undefined {
  if (method === 'getFile' && !files.has(payload.file_id)) return refuse(400, 'Bad Request: wrong file_id');
  if (method === 'sendDocument' || method === 'sendPhoto') {
    return sent.length === 1 ? undefined : refuse(400, 'Bad Request: there is no file in the request');
  }
  if (!['sendMessage', 'sendMessageDraft', 'editMessageText'].includes(method)) return undefined;
  const isHtml = payload.parse_mode === 'HTML';
  const bare = String(payload.text).replaceAll(TAG, '');
  if (isHtml && (/[<>]|&(?!amp;|lt;|gt;|quot;)/.test(bare) || !isNested(payload.text))) {
    return refuse(400, "Bad Request: can't parse entities");
  }
  const shown = isHtml ? bare.replaceAll(/&(?:amp|lt|gt|quot);/g, '.') : String(payload.text);
  if (shown.trim() === '') return refuse(400, 'Bad Request: message text is empty');
  return shown.length > 4_096 ? refuse(400, 'Bad Request: message is too long') : undefined;
}

function editProblemOf({ method, payload }: ApiCall, shownIn: ReadonlyMap<number, string>): object | undefined {
  const before = shownIn.get(payload.message_id);
  if (method === 'deleteMessage' && before === undefined)
    return refuse(400, 'Bad Request: message to delete not found');
  if (method !== 'editMessageText') return undefined;
  if (before === undefined) return refuse(400, 'Bad Request: message to edit not found');
  return before === payload.text ? refuse(400, 'Bad Request: message is not modified') : undefined;
}

function isNested(html: string): boolean {
  const open: string[] = [];
  for (const [, slash, tag = ''] of html.matchAll(TAG)) {
    if (slash === '') open.push(tag);
    else if (open.pop() !== tag) return false;
  }
  return open.length === 0;
}

function send(response: ServerResponse, reply: unknown): void {
  const { error_code: status = 200 } = reply as { error_code?: number };
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
}

function sendFile(response: ServerResponse, content: Buffer | undefined): void {
  if (content === undefined) response.writeHead(404).end();
  else response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(content);
}

async function readPayload(request: IncomingMessage): Promise<Pick<ApiCall, 'payload' | 'files'>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const type = request.headers['content-type'] ?? '';
  if (type.startsWith('multipart/form-data')) return readForm(type, body);
  return { payload: body.length === 0 ? {} : JSON.parse(body.toString('utf8')), files: [] };
}
