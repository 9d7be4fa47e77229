/**
 * Messages that Telegram cannot bring, since it cannot reach this server: one replica at a time fetches those of an account,
 * and says with the next call which it has. What it had not said so is fetched again and known by its id.
 */
import { randomUUID } from 'node:crypto';
import { abortAfter, sleep } from '../../../kernel/clock/timers.ts';
import type { Worker } from '../../../kernel/http/service-lifecycle.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { createPeriodicWorker, SPARE_LOOK_MS } from '../../../kernel/periodic/periodic-worker.ts';
import { backoffMs } from '../../../kernel/retry/backoff.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import { noteAccountError } from '../accounts/account-store.ts';
import { ACCOUNTS_CHANNEL } from '../accounts/channel.ts';
import { openAccount } from '../accounts/open-account.ts';
import type { InboundMessage, OpenAccount } from '../channel.ts';
import type { Messaging } from '../messaging.ts';
import { botOf } from './bot.ts';
import { createBotApi, readProblem } from './bot-api.ts';
import { endLease, renewLease, takeLeases } from './polling-store.ts';
import { ALLOWED_UPDATES, readMove, readUpdate } from './read-update.ts';
import type { TelegramDependencies } from './telegram-channel.ts';

/** For accounts that another replica let go; those that are saved are looked at at once. */
const INTERVAL_MS = 5_000;
const MAX_ACCOUNTS = 100;
/** How long Telegram holds a call in which it has nothing to say: well within the lease. */
const HOLD_SECONDS = 25;
const PATIENCE_MS = (HOLD_SECONDS + 15) * 1_000;
const BACKOFF = { firstMs: 1_000, longestMs: 30_000, jitter: 'half' } as const;

export interface PollingDependencies extends Omit<TelegramDependencies, 'accounts'> {
  readonly vault: Pick<Vault, 'open'>;
  readonly logger: Logger;
  readonly accept: Messaging['accept'];
  readonly move: Messaging['move'];
}

export function createTelegramPolling(deps: PollingDependencies): Worker {
  const { db, logger } = deps;
  const replica = randomUUID();
  const polls = new Map<string, { readonly ending: AbortController; readonly done: Promise<void> }>();
  const accounts = createPeriodicWorker({
    name: 'telegram accounts',
    intervalMs: INTERVAL_MS,
    store: db,
    quietMs: SPARE_LOOK_MS,
    logger,
    async pass() {
      if (polls.size >= MAX_ACCOUNTS) return;
      for (const projectId of await takeLeases(db, replica, MAX_ACCOUNTS - polls.size)) begin(projectId);
    },
  });

  function begin(projectId: string): void {
    const before = polls.get(projectId);
    before?.ending.abort();
    const ending = new AbortController();
    const done = poll(deps, replica, projectId, ending.signal)
      .catch((error: unknown) => logger.warn({ err: error, projectId }, 'messages of a bot are no longer fetched'))
      .finally(() => {
        if (polls.get(projectId)?.ending === ending) polls.delete(projectId);
      });
    polls.set(projectId, { ending, done: Promise.all([before?.done, done]).then(() => undefined) });
  }

  let unlisten: (() => Promise<void>) | undefined;
  const stop = async (): Promise<void> => {
    await unlisten?.();
    unlisten = undefined;
    await accounts.stop();
    const under = [...polls];
    for (const [, { ending }] of under) ending.abort();
    await Promise.all(under.map(([, { done }]) => done));
    for (const [projectId] of under) await endLease(db, replica, projectId).catch(() => undefined);
    if (under.length > 0) db.wake(ACCOUNTS_CHANNEL);
  };
  return {
    async start() {
      const wake = () => accounts.wake();
      unlisten = await db.listen(
        ACCOUNTS_CHANNEL,
        (projectId) => {
          polls.get(projectId)?.ending.abort();
          wake();
        },
        wake,
      );
      accounts.start();
    },
    drain: stop,
    stop,
  };
}

/** Until the lease is lost, the account is another, or the signal fires. */
async function poll(deps: PollingDependencies, replica: string, projectId: string, ending: AbortSignal): Promise<void> {
  const { db, vault, outbound } = deps;
  const botApi = createBotApi(outbound);
  let failures = 0;
  for (let offset: number | undefined; !ending.aborted; ) {
    const row = await renewLease(db, replica, projectId);
    if (row === undefined) return;
    const account = openAccount(vault, projectId, row);
    const api = await botApi.of(account);
    try {
      const signal = AbortSignal.any([ending, abortAfter(PATIENCE_MS)]);
      const updates = await api.getUpdates(
        { timeout: HOLD_SECONDS, allowed_updates: ALLOWED_UPDATES, ...(offset === undefined ? {} : { offset }) },
        signal as never,
      );
      const bot = botOf(account);
      let messages: InboundMessage[] = [];
      const acceptRead = async () => {
        if (messages.length > 0) await deps.accept(account, messages);
        messages = [];
      };
      for (const update of updates) {
        const moved = readMove(update);
        messages.push(...[readUpdate(update, bot) ?? []].flat());
        if (moved === undefined) continue;
        // What was written before is answered where its chat is then.
        await acceptRead();
        await deps.move(account, moved);
      }
      await acceptRead();
      offset = updates.reduce((next, { update_id }) => Math.max(next, update_id + 1), offset ?? 0);
      failures = 0;
    } catch (error) {
      if (ending.aborted) return;
      failures += 1;
      await explain(deps, account, error);
      await sleep(backoffMs(failures, BACKOFF), ending, { keepsProcess: false }).catch(() => undefined);
    }
  }
}

/** Told to the tenant as far as it is Telegram's doing. */
async function explain(
  { db, logger, outbound }: PollingDependencies,
  account: OpenAccount,
  error: unknown,
): Promise<void> {
  const { projectId } = account;
  if (!isOfTelegram(error)) {
    logger.warn({ err: error, projectId }, 'messages of a bot could not be taken in; they are fetched again');
    return;
  }
  const { code, message } = readProblem(error);
  logger.warn({ projectId, problem: message }, 'messages of a bot could not be fetched');
  // Set by somebody else: as long as it stands, nothing can be fetched.
  if (code === 409 && /webhook/i.test(message)) {
    const api = await createBotApi(outbound).of(account);
    await api.deleteWebhook().catch(() => undefined);
  }
  await noteAccountError(tenantDb(db, projectId), account, { code: 'telegram_api_error', message });
}

function isOfTelegram(error: unknown): boolean {
  return error instanceof Error && (error.name === 'GrammyError' || error.name === 'HttpError');
}
