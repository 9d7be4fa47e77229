/** A messaging channel for tests of what all channels share: its provider is an HTTP server on loopback that tests direct. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { ReadableStream } from 'node:stream/web';
import type { Database } from '../../src/kernel/db/database.ts';
import {
  AttachmentFailure,
  type Channel,
  type Destination,
  type InboundMessage,
  type OpenAccount,
  SendFailure,
} from '../../src/platform/channels/index.ts';

export const TEST_KIND = 'telegram';
/** A part has as many characters, so that answers of a few words have several. */
const PART_CHARS = 400;

export interface SentMessage {
  readonly chat: string;
  readonly text: string;
  readonly plain: boolean;
  readonly reply: string | null;
}

/** What the provider does with a send before it is asked the next time. `lost`: takes it and gives no answer. */
export type ProviderMood =
  | 'ok'
  | 'busy'
  | 'busy account'
  | 'broken'
  | 'garbage'
  | 'silent'
  | 'lost'
  | 'refusing'
  | 'unreadable'
  /** Of live calls: not answered at all, until the caller has gone. */
  | 'hanging';

/** A call for what is shown before an answer is there. */
export interface LiveCall {
  readonly act: 'open' | 'show' | 'remove';
  readonly chat: string;
  readonly text: string;
  readonly message: string | null;
}

export interface TestProvider {
  readonly url: string;
  /** In the order in which they were taken. */
  readonly sent: readonly SentMessage[];
  /** Chats in which somebody was shown to write. */
  readonly typing: readonly string[];
  /** What was asked for to be shown, taken or not. */
  readonly live: readonly LiveCall[];
  /** The messages as they stand in the chat, in the order in which they came. */
  standing(chat: string): readonly string[];
  /** Decides for each live call; otherwise it is taken. */
  decideLive(mood: (call: LiveCall) => ProviderMood): void;
  /** Calls of `send`, taken or not. */
  calls(): number;
  /** One for each of the next sends; then `ok`. */
  expect(...moods: readonly ProviderMood[]): void;
  /** One for each of the next times that it is asked whether a message has arrived; then `ok`. */
  expectLookUps(...moods: readonly ProviderMood[]): void;
  /** Decides for each send that `expect` says nothing of. */
  decide(mood: (message: SentMessage) => ProviderMood): void;
  /** Files by `ref`; a number is a status in place of the file. */
  readonly files: Map<string, string | number>;
  close(): Promise<void>;
}

export async function openTestProvider(): Promise<TestProvider> {
  const sent: SentMessage[] = [];
  const typing: string[] = [];
  const files = new Map<string, string | number>();
  const live: LiveCall[] = [];
  const messages = new Map<string, { readonly chat: string; text: string }>();
  let decideLive: (call: LiveCall) => ProviderMood = () => 'ok';
  let moods: ProviderMood[] = [];
  let lookUps: ProviderMood[] = [];
  let decide: (message: SentMessage) => ProviderMood = () => 'ok';
  let calls = 0;

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { replaces, ...message }: SentMessage & { replaces: string | null } = JSON.parse(await text(request));
    calls += 1;
    const mood = moods.shift() ?? decide(message);
    const isEdit = replaces !== null && messages.has(replaces);
    const id = isEdit ? replaces : `m${sent.length + 1}`;
    if (mood === 'lost' || mood === 'ok') {
      sent.push(message);
      messages.set(id, { chat: message.chat, text: message.text });
    }
    answer(response, mood, id);
  }

  async function takeLive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call: LiveCall = JSON.parse(await text(request));
    live.push(call);
    const mood = decideLive(call);
    const id = call.message ?? `l${live.length}`;
    if (mood === 'ok' || mood === 'lost') {
      if (call.act === 'open') messages.set(id, { chat: call.chat, text: call.text });
      else if (call.act === 'remove') messages.delete(id);
      else if (call.message !== null) messages.set(id, { chat: call.chat, text: call.text });
    }
    answer(response, mood, id);
  }

  function answer(response: ServerResponse, mood: ProviderMood, id: string): void {
    switch (mood) {
      case 'ok':
        response.end(JSON.stringify({ id }));
        return;
      case 'hanging':
        return;
      case 'garbage':
        response.end('<html>');
        return;
      case 'silent':
      case 'lost':
        response.destroy();
        return;
      default:
        response.writeHead(STATUSES[mood], { 'retry-after': '0.05', bucket: mood }).end();
    }
  }

  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://provider');
    if (pathname === '/send') return take(request, response);
    if (pathname === '/live') return takeLive(request, response);
    if (pathname === '/typing') typing.push(searchParams.get('chat') ?? '');
    if (pathname === '/found') {
      const mood = lookUps.shift() ?? 'ok';
      if (mood !== 'ok') return answer(response, mood, '');
      const at = sent.findIndex(
        (one) => one.text === searchParams.get('text') && one.chat === searchParams.get('chat'),
      );
      response.end(JSON.stringify({ id: at === -1 ? null : `m${at + 1}` }));
      return;
    }
    const file = pathname === '/file' ? files.get(searchParams.get('ref') ?? '') : undefined;
    if (typeof file === 'number') response.writeHead(file);
    response.end(typeof file === 'string' ? file : '');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    sent,
    typing,
    files,
    live,
    standing: (chat) => [...messages.values()].filter((message) => message.chat === chat).map(({ text: said }) => said),
    decideLive: (mood) => {
      decideLive = mood;
    },
    calls: () => calls,
    expect: (...next) => {
      moods = [...next];
    },
    expectLookUps: (...next) => {
      lookUps = [...next];
    },
    decide: (mood) => {
      decide = mood;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const STATUSES = { busy: 429, 'busy account': 429, broken: 500, refusing: 403, unreadable: 400 } as const;

export interface TestChannelOptions {
  /** The provider can say whether a message has arrived. */
  readonly findsSent?: boolean;
  readonly pace?: Channel['pace'];
  /** Answers are shown while they are written: in a message, in chats called `draft…` as a draft that goes by itself. */
  readonly live?: boolean;
}

const LIVE_PACE_MS = 20;
const DRAFT_LIFETIME_MS = 400;

/** Its account is the project's row of the kind, as `saveTestAccount` writes it. */
export function createTestChannel(db: () => Database, options: TestChannelOptions = {}): Channel {
  const findSent: NonNullable<Channel['findSent']> = async ({ account, chat }, part, _after, signal) => {
    const query = new URLSearchParams({ chat, text: part.type === 'text' ? part.text : part.file.filename });
    const response = await fetch(`${urlOf(account)}/found?${query}`, { signal });
    if (!response.ok) throw failureOf(response);
    const found = (await response.json()) as { id: string | null };
    return found.id ?? undefined;
  };
  const call = async ({ account, chat }: Destination, live: Omit<LiveCall, 'chat'>, signal: AbortSignal) => {
    const body = JSON.stringify({ ...live, chat });
    const answer = await fetch(`${urlOf(account)}/live`, { method: 'POST', body, signal }).catch((cause: unknown) => {
      throw new SendFailure('unknown', 'The provider gave no answer.', { cause });
    });
    if (answer.ok) return readId(await answer.text());
    throw failureOf(answer);
  };
  const isDraft = ({ chat }: Destination) => chat.startsWith('draft');
  const live: NonNullable<Channel['live']> = {
    at: (to) => ({ paceMs: LIVE_PACE_MS, ...(isDraft(to) && { lifetimeMs: DRAFT_LIFETIME_MS }) }),
    open: async (to, signal) => (isDraft(to) ? undefined : call(to, { act: 'open', text: '…', message: null }, signal)),
    async show(to, said, { message = null, signal }) {
      await call(to, { act: 'show', text: said, message }, signal);
    },
    async remove(to, message, signal) {
      await call(to, { act: 'remove', text: '', message }, signal);
    },
  };
  return {
    kind: TEST_KIND,
    pace: options.pace ?? { accountMs: 0, chatMs: 0 },
    async openAccount(projectId) {
      const { rows } = await db().query<{ account_id: string; settings: Record<string, unknown> }>({
        text: 'select account_id, settings from channel_accounts where project_id = $1 and kind = $2',
        values: [projectId, TEST_KIND],
      });
      const [row] = rows;
      if (row === undefined) return undefined;
      return { projectId, kind: TEST_KIND, accountId: row.account_id, settings: row.settings, secrets: {} };
    },
    async noteFailure(account, error) {
      await db().query({
        text: 'update channel_accounts set last_error = $3 where project_id = $1 and kind = $2',
        values: [account.projectId, account.kind, JSON.stringify({ ...error, at: new Date().toISOString() })],
      });
    },
    startLinks: ({ accountId }, token) => ({
      deep_link: `https://t.example/${accountId}?start=${token}`,
      prefilled_message: `/start ${token}`,
    }),
    compose: ({ text: said, files, suggestedReplies }) => [
      ...(said.match(new RegExp(`[^]{1,${PART_CHARS}}`, 'gu')) ?? []).map((piece) => ({
        type: 'text' as const,
        text: piece,
        plain: piece.replaceAll('*', ''),
        ...(suggestedReplies.length === 0 ? {} : { replies: suggestedReplies }),
      })),
      ...files.map((file) => ({ type: 'file' as const, file })),
    ],
    ...(options.live === true && { live }),
    async send({ account, chat, reply }, part, { asPlain, openFile, signal, replaces = null }) {
      const said =
        part.type === 'text' ? (asPlain ? part.plain : part.text) : await text(await openFile(part.file.fileId));
      const body = JSON.stringify({ chat, text: said, plain: asPlain, reply: reply ?? null, replaces });
      const answer = await fetch(`${urlOf(account)}/send`, { method: 'POST', body, signal }).catch((cause: unknown) => {
        throw new SendFailure('unknown', 'The provider gave no answer.', { cause });
      });
      if (answer.ok) return readId(await answer.text());
      throw failureOf(answer);
    },
    ...(options.findsSent === true ? { findSent } : {}),
    async showTyping({ account, chat }, signal) {
      await fetch(`${urlOf(account)}/typing?${new URLSearchParams({ chat })}`, { signal });
    },
    async openAttachment(account, { ref }, signal) {
      const answer = await fetch(`${urlOf(account)}/file?${new URLSearchParams({ ref })}`, { signal });
      if (answer.status === 410) throw new AttachmentFailure('It is gone.');
      if (!answer.ok || answer.body === null) throw new Error(`the provider answered ${answer.status}`);
      return Readable.fromWeb(answer.body as ReadableStream);
    },
  };
}

function failureOf(answer: Response): SendFailure {
  const retryAfterMs = Number(answer.headers.get('retry-after')) * 1_000;
  switch (answer.status) {
    case 429: {
      const bucket = answer.headers.get('bucket') === 'busy account' ? 'account' : 'chat';
      return new SendFailure('paused', 'Too many messages.', { retryAfterMs, bucket });
    }
    case 403:
      return new SendFailure('refused', 'The bot was blocked.');
    case 400:
      return new SendFailure('unreadable', 'The markup cannot be read.');
    default:
      return new SendFailure('unavailable', `The provider answered ${answer.status}.`);
  }
}

function readId(answer: string): string {
  try {
    return JSON.parse(answer).id;
  } catch (cause) {
    throw new SendFailure('unavailable', 'The provider answered something that cannot be read.', { cause });
  }
}

function urlOf({ settings }: OpenAccount): string {
  return String(settings.url);
}

export async function saveTestAccount(
  db: Database,
  projectId: string,
  provider: { readonly url: string },
): Promise<OpenAccount> {
  const accountId = `bot-${projectId}`;
  const settings = { url: provider.url };
  await db.query({
    text: `
      insert into channel_accounts (project_id, kind, account_id, settings, sealed_secrets, secret_keys)
      values ($1, $2, $3, $4, '', '{}')`,
    values: [projectId, TEST_KIND, accountId, JSON.stringify(settings)],
  });
  return { projectId, kind: TEST_KIND, accountId, settings, secrets: {} };
}

/** Somebody writes. Each is another message, unless it is given a key. */
export function writes(sender: string, said: string, more: Partial<InboundMessage> = {}): InboundMessage {
  lastKey += 1;
  return {
    idempotencyKey: `u${lastKey}`,
    type: 'message',
    sender,
    chat: sender,
    subject: `${sender} wrote`,
    text: said,
    attachments: [],
    data: { text: said },
    ...more,
  };
}

let lastKey = 0;
