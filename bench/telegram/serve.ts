/**
 * Telegram and the people who write there, in one process, so that one clock measures from a message to its answer.
 *
 *     node serve.ts PORT        POST /job takes a TelegramJob and answers a TelegramResult; POST /token gives the webhook's secret
 */
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { Parse } from 'typebox/value';
import { summarize } from '../statistics.ts';
import { TelegramJob, type TelegramResult } from './jobs.ts';

const BOT = { id: 4_242, is_bot: true, first_name: 'Bench', username: 'bench_bot' };
/** An answer that takes longer is a failure. */
const PATIENCE_MS = 30_000;
const RETRY_AFTER_SECONDS = 1;

const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const awaited = new Map<number, () => void>();
const limited = new Set<number>();
let secret = '';
let lastId = 0;
/** People of one job are not those of another. */
let firstSender = 1_000;

function answerBot(method: string, body: Record<string, unknown>, response: ServerResponse): void {
  const chat = Number(body.chat_id);
  if (method === 'sendMessage' && limited.has(chat)) {
    const parameters = { retry_after: RETRY_AFTER_SECONDS };
    reply(response, { ok: false, error_code: 429, description: 'Too Many Requests', parameters }, 429);
    return;
  }
  if (method === 'setWebhook') secret = String(body.secret_token);
  if (method === 'sendMessage') awaited.get(chat)?.();
  const message = {
    message_id: ++lastId,
    date: 1_780_000_000,
    chat: { id: chat, type: 'private' },
    from: BOT,
    text: '',
  };
  reply(response, { ok: true, result: method === 'getMe' ? BOT : method === 'sendMessage' ? message : true });
}

function reply(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

interface Written {
  readonly status: number;
  readonly acknowledgedMs: number;
}

function write({ url, secret: token, text }: TelegramJob, sender: number): Promise<Written> {
  const from = { id: sender, is_bot: false, first_name: 'Ada' };
  const id = ++lastId;
  const message = {
    message_id: id,
    date: 1_780_000_000,
    from,
    chat: { id: sender, type: 'private', first_name: 'Ada' },
    text,
  };
  const headers = { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': token };
  const { promise, resolve } = Promise.withResolvers<Written>();
  const startedMs = performance.now();
  const call = request(url, { method: 'POST', agent, headers }, (answer) => {
    answer.resume();
    answer.once('end', () => {
      resolve({ status: answer.statusCode ?? 0, acknowledgedMs: performance.now() - startedMs });
    });
  });
  call.once('error', () => resolve({ status: 0, acknowledgedMs: performance.now() - startedMs }));
  call.end(JSON.stringify({ update_id: id, message }));
  return promise;
}

class Tally {
  readonly acknowledged: number[] = [];
  readonly answered: number[] = [];
  failures = 0;

  note({ status, acknowledgedMs }: Written): void {
    if (status < 200 || status > 299) this.failures += 1;
    else this.acknowledged.push(acknowledgedMs);
  }

  summarize(seconds: number): TelegramResult {
    const { acknowledged, answered, failures } = this;
    return {
      acknowledged: summarize(acknowledged),
      ...(answered.length > 0 && { answered: summarize(answered) }),
      ...{ answers: answered.length, seconds, failures },
    };
  }
}

async function acknowledge(job: TelegramJob & { kind: 'acknowledge' }): Promise<TelegramResult> {
  const tally = new Tally();
  const first = takeSenders(job.senders);
  // Each writes again only once it has been answered, so that all answers together say that all is done.
  const waiting = new Set<number>();
  const calls: Promise<void>[] = [];
  const startedMs = performance.now();
  const count = Math.round((job.perSecond * job.durationMs) / 1_000);
  for (let number = 0; number < count; number += 1) {
    await wait(Math.max(0, startedMs + (number * 1_000) / job.perSecond - performance.now()));
    const sender = first + (number % job.senders);
    waiting.add(sender);
    awaited.set(sender, () => waiting.delete(sender));
    calls.push(write(job, sender).then((written) => tally.note(written)));
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  await Promise.all(calls);
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (waiting.size > 0 && performance.now() < deadlineMs) await wait(50);
  tally.failures += waiting.size;
  awaited.clear();
  return tally.summarize(seconds);
}

async function converse(job: TelegramJob & { kind: 'converse' }): Promise<TelegramResult> {
  const tally = new Tally();
  const first = takeSenders(job.senders + job.limited);
  const startedMs = performance.now() + job.warmUpMs;
  const endMs = startedMs + job.durationMs;
  const talk = async (sender: number): Promise<void> => {
    while (performance.now() < endMs) {
      const sentMs = performance.now();
      const { promise, resolve } = Promise.withResolvers<number>();
      awaited.set(sender, () => resolve(performance.now()));
      const [written, answeredMs] = await Promise.all([
        write(job, sender),
        Promise.race([promise, wait(PATIENCE_MS, undefined, { ref: false })]),
      ]);
      if (sentMs >= startedMs && (answeredMs ?? endMs) < endMs) {
        tally.note(written);
        if (answeredMs === undefined) tally.failures += 1;
        else tally.answered.push(answeredMs - sentMs);
      }
      await wait(job.pauseMs);
    }
  };
  // Their messages wait; who reads on writes on.
  const stay = async (sender: number): Promise<void> => {
    limited.add(sender);
    while (performance.now() < endMs) {
      await write(job, sender);
      await wait(1_000);
    }
    limited.delete(sender);
  };
  await Promise.all(
    Array.from({ length: job.senders + job.limited }, (_, index) =>
      index < job.senders ? talk(first + index) : stay(first + index),
    ),
  );
  awaited.clear();
  return tally.summarize(job.durationMs / 1_000);
}

function takeSenders(count: number): number {
  const first = firstSender;
  firstSender += count;
  return first;
}

async function readBody(call: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of call) chunks.push(chunk);
  return chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

createServer(async (call, response) => {
  const body = await readBody(call);
  if (call.url === '/ok') return reply(response, {});
  if (call.url === '/secret') return reply(response, { secret });
  if (call.url === '/job') {
    const job = Parse(TelegramJob, body);
    return reply(response, job.kind === 'acknowledge' ? await acknowledge(job) : await converse(job));
  }
  answerBot(call.url?.split('/').at(-1) ?? '', body, response);
}).listen(Number(process.argv[2]), '127.0.0.1');
