/** A bot on Telegram: from what somebody writes to its acknowledgement, and to the answer. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { OwnProcess } from '../child-process.ts';
import { createDatabase } from '../database.ts';
import type { Figure, Findings } from '../figure.ts';
import { findFreePort, startIroncraft } from '../ironcraft.ts';
import { type CpuUsage, watchCpu } from '../process-usage.ts';
import { createAgent } from '../provision.ts';
import type { TelegramJob, TelegramResult } from '../telegram/jobs.ts';
import { type BenchTelegram, startTelegram } from '../telegram/start-telegram.ts';
import { type BenchContext, CLIENTS, SHORT_MESSAGE } from './bench-context.ts';
import { installPeer, readPeerVersion } from './install-peer.ts';

const ACKNOWLEDGED_P99_MS = 100;
const ACKNOWLEDGED_PER_SECOND = 200;
const ANSWERED_P50_MS = 60;
const ANSWERS_PER_SECOND = 100;
const SLOWER_AT_MOST = 10;
/** Telegram takes ten messages a second of a chat for a while: whoever writes again waits for that. */
const PAUSE_MS = 150;
const PEER = resolve(import.meta.dirname, '../peers/chat');
const TOKEN = '4242:bench-bench-bench-bench';
const HOST = '127.0.0.1';
const START_TIMEOUT_MS = 20_000;

/** Somebody's webhook, and how busy they are. */
interface Bot {
  readonly url: string;
  readonly secret: string;
  readonly pid: number;
}

export async function measureChannels(context: BenchContext): Promise<Findings> {
  const { quick, say, withPeers } = context;
  await using served = context.served.use(new AsyncDisposableStack());
  const telegram = await startTelegram(served);
  const ours = await measureBot(telegram, await startOwnBot(context, telegram, served), {
    quick,
    say,
    name: 'Ironcraft',
  });
  if (!withPeers) return { figures: describe(ours), remarks: ours.remarks, details: { ours } };
  const bot = await startPeer(telegram, served, say);
  const peer = await measureBot(telegram, bot, { quick, say, name: 'chat' });
  const version = readPeerVersion(PEER, 'chat');
  return {
    figures: [
      ...describe(ours),
      { name: 'chat: webhook to sendMessage, alone, p50', value: peer.alone.answered?.p50 ?? Number.NaN, unit: 'ms' },
      {
        name: `chat: answers, ${CLIENTS} senders`,
        value: peer.together.answers / peer.together.seconds,
        unit: 'requests/s',
      },
      { name: 'chat: acknowledgement, p99', value: peer.acknowledged.acknowledged.p99, unit: 'ms' },
    ],
    remarks: [
      ...ours.remarks,
      ...peer.remarks,
      `chat ${version} with @chat-adapter/telegram ${readPeerVersion(PEER, '@chat-adapter/telegram')}: its state is in memory, its answer a constant. What it has acknowledged is lost when it ends; ours is stored before it is acknowledged, runs a turn, and stores the answer before it is sent.`,
    ],
    details: { ours, peer },
  };
}

function describe({ acknowledged, alone, together, calm, limited }: Measured): Figure[] {
  const perSecond = ({ answers, seconds }: TelegramResult) => answers / seconds;
  return [
    {
      name: `acknowledgement at ${ACKNOWLEDGED_PER_SECOND}/s, p99`,
      value: acknowledged.acknowledged.p99,
      unit: 'ms',
      bar: { atMost: ACKNOWLEDGED_P99_MS },
    },
    {
      name: 'webhook to sendMessage, alone, p50',
      value: alone.answered?.p50 ?? Number.NaN,
      unit: 'ms',
      bar: { atMost: ANSWERED_P50_MS },
    },
    {
      name: `answers, ${CLIENTS} senders`,
      value: perSecond(together),
      unit: 'requests/s',
      bar: { atLeast: ANSWERS_PER_SECOND },
    },
    {
      name: 'a chat under 429 slows others by',
      value: Math.max(0, 100 * ((limited.answered?.p50 ?? Number.NaN) / (calm.answered?.p50 ?? Number.NaN) - 1)),
      unit: '%',
      bar: { atMost: SLOWER_AT_MOST },
    },
  ];
}

interface Measured {
  readonly acknowledged: TelegramResult;
  readonly alone: TelegramResult;
  readonly together: TelegramResult;
  /** Some people, without and with one whose chat is answered 429 all the time. */
  readonly calm: TelegramResult;
  readonly limited: TelegramResult;
  readonly remarks: readonly string[];
}

async function measureBot(
  telegram: BenchTelegram,
  { url, secret, pid }: Bot,
  { quick, say, name }: { readonly quick: boolean; readonly say: (line: string) => void; readonly name: string },
): Promise<Measured> {
  const webhook = { url, secret, text: SHORT_MESSAGE };
  const [warmUpMs, durationMs] = quick ? [500, 2_000] : [3_000, 12_000];
  const talk = (senders: number, pauseMs: number, limited = 0): TelegramJob => ({
    ...{ kind: 'converse', ...webhook, senders, pauseMs, warmUpMs, durationMs, limited },
  });
  say(`${name}: a message alone`);
  const alone = await telegram.run(talk(1, PAUSE_MS));
  say(`${name}: ${CLIENTS} senders`);
  const { result: together, usage } = await watchCpu(pid, () => telegram.run(talk(CLIENTS, 0)));
  say(`${name}: a chat under 429`);
  const calm = await telegram.run(talk(4, PAUSE_MS));
  const limited = await telegram.run(talk(4, PAUSE_MS, 1));
  say(`${name}: acknowledgements`);
  const acknowledged = await telegram.run({
    ...{ kind: 'acknowledge', ...webhook, senders: 400, durationMs, perSecond: ACKNOWLEDGED_PER_SECOND },
  });
  const results = [alone, together, calm, limited, acknowledged];
  const failures = results.reduce((sum, result) => sum + result.failures, 0);
  return {
    ...{ acknowledged, alone, together, calm, limited },
    remarks: [
      describeUsage(`${name}, ${CLIENTS} senders`, usage),
      ...(failures === 0 ? [] : [`${name}: ${failures} messages were refused or not answered in time.`]),
    ],
  };
}

function describeUsage(name: string, { used = 0, waited = 0, machine }: CpuUsage): string {
  const percent = (share: number) => `${Math.round(100 * share)} %`;
  return `${name}: the process used ${percent(used)} of a core and waited for one ${percent(waited)} of the time; the machine was ${percent(machine)} busy.`;
}

/** A server of its own, whose public address is one that Telegram would call. */
async function startOwnBot(
  { database, profileDir }: BenchContext,
  telegram: BenchTelegram,
  served: AsyncDisposableStack,
): Promise<Bot> {
  const own = database === undefined ? undefined : await createDatabase(database.url, '_channels');
  if (own !== undefined) served.defer(() => own.drop());
  const server = await startIroncraft({
    databaseUrl: own?.url,
    profileDir,
    variables: { IRONCRAFT_PUBLIC_URL: `https://${HOST}` },
  });
  served.defer(() => server.stop());
  const { tenant_token: token, project_id } = server.credentials;
  await server.call(token, 'PUT', '/v1/tenant/telegram', { bot_token: TOKEN, api_base_url: telegram.url });
  const target = { type: 'agent', id: await createAgent(server, token, 'Bot') };
  await server.call(token, 'POST', '/v1/deployments', { kind: 'telegram', target });
  const url = `http://${server.host}:${server.port}/v1/telegram/webhook/${project_id}`;
  return { url, secret: await telegram.readSecret(), pid: server.pid };
}

async function startPeer(
  telegram: BenchTelegram,
  served: AsyncDisposableStack,
  say: (line: string) => void,
): Promise<Bot> {
  await installPeer(PEER, 'chat into bench/peers/chat, about 9 MB', say);
  const folder = await mkdtemp(join(tmpdir(), 'ironcraft-bench-chat-'));
  served.defer(() => rm(folder, { recursive: true, force: true }));
  const port = await findFreePort(HOST);
  const secret = 'bench-secret';
  const peer = new OwnProcess({
    args: [join(PEER, 'serve.ts'), String(port)],
    cwd: folder,
    logPath: join(folder, 'chat.log'),
    env: {
      TELEGRAM_BOT_TOKEN: TOKEN,
      TELEGRAM_WEBHOOK_SECRET_TOKEN: secret,
      TELEGRAM_API_BASE_URL: telegram.url,
    },
  });
  served.defer(() => peer.stop());
  const url = `http://${HOST}:${port}/`;
  await peer.waitFor('a ready bot of chat', START_TIMEOUT_MS, async () => ((await fetch(url)).ok ? true : undefined));
  return { url, secret, pid: peer.pid };
}
