/** Messaging channels at work on one replica: what comes in begins turns, what turns answer goes out. */
import { setTimer } from '../../kernel/clock/timers.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Worker } from '../../kernel/http/service-lifecycle.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Metrics } from '../../kernel/metrics/metrics.ts';
import { createPeriodicWorker, type PeriodicPass } from '../../kernel/periodic/periodic-worker.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import type { Engine } from '../engine/index.ts';
import { ACCOUNTS_CHANNEL } from './accounts/channel.ts';
import type { OpenedAccounts } from './accounts/opened-accounts.ts';
import type { Channel, InboundMessage, OpenAccount } from './channel.ts';
import type { ChannelFiles } from './channel-files.ts';
import { type Accepted, acceptMessages } from './inbound/accept-messages.ts';
import { createAttachments } from './inbound/attachments.ts';
import { createChatDispatcher } from './inbound/dispatch-chats.ts';
import { type MovedChat, moveChat } from './inbound/move-chat.ts';
import { createDismiss } from './outbound/dismiss.ts';
import { createLive } from './outbound/live.ts';
import { createPlanner } from './outbound/planner.ts';
import { Sender } from './outbound/sender.ts';
import { createTyping } from './outbound/typing.ts';

/** On which the replicas are told that a message waits. */
const MESSAGES_CHANNEL = 'channel_messages';
/** Wake-ups begin the work at once; these look for what was lost, and for waits that are over. */
const DISPATCH_INTERVAL_MS = 1_000;
const SEND_INTERVAL_MS = 1_000;
const PLAN_INTERVAL_MS = 3_000;

export interface MessagingDependencies {
  readonly db: Database;
  readonly engine: Engine;
  readonly vault: Vault;
  readonly files: ChannelFiles;
  readonly channels: readonly Channel[];
  readonly accounts: OpenedAccounts;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly now: () => Date;
}

export interface Messaging extends Worker {
  /** The channels that this server serves. */
  readonly channels: ReadonlyMap<string, Channel>;
  /**
   * Takes what a provider has delivered to the account, each message once. When it resolves the provider may be answered;
   * when it rejects nothing was taken. `unbound`: messages of senders whom nobody claims, which are never answered.
   */
  accept(account: OpenAccount, messages: readonly InboundMessage[]): Promise<Pick<Accepted, 'unbound'>>;
  /** A chat of the account has another id. */
  move(account: OpenAccount, chat: MovedChat): Promise<void>;
  /** A turn has come to rest on this replica. */
  turnRested(turn: { readonly projectId: string; readonly smithId: string }): void;
  /** A run has paused here, or has been brought to its end here. */
  runRested(run: { readonly projectId: string; readonly runId: string; readonly channel: string }): void;
}

export function createMessaging(deps: MessagingDependencies): Messaging {
  const { db, logger } = deps;
  const channels = new Map(deps.channels.map((channel) => [channel.kind as string, channel]));
  const parts = { ...deps, channels };
  const attachments = createAttachments(deps);
  const typing = createTyping(parts);
  const live = createLive({ ...parts, wake: () => sends.wake() });
  const sender = new Sender({ ...parts, wake: () => sends.wake() });
  const wakeSends = (waitMs: number) => {
    if (waitMs <= 0) sends.wake();
    // What is being sent, or paused for longer, has its own end.
    else if (waitMs < SEND_INTERVAL_MS) setTimer(() => sends.wake(), waitMs);
  };
  const planner = createPlanner({ ...parts, onPlanned: wakeSends });
  const dispatcher = createChatDispatcher({
    ...parts,
    attachments,
    wake: () => dispatches.wake(),
    onBegun(chat, last, turn) {
      typing.show(chat, last, turn.live);
      live.show(chat, last, turn);
    },
    onPassed: createDismiss(parts),
    onSaid: planner.lookAt,
  });
  const worker = (name: string, intervalMs: number, pass: PeriodicPass) =>
    createPeriodicWorker({ name, intervalMs, store: db, pass, logger });
  const dispatches = worker('channel dispatcher', DISPATCH_INTERVAL_MS, (signal) => dispatcher.dispatch(signal));
  const sends = worker('channel sender', SEND_INTERVAL_MS, (signal) => sender.send(signal));
  const plans = worker('channel answers', PLAN_INTERVAL_MS, (signal) => planner.sweep(signal));
  const listeners: (() => Promise<void>)[] = [];

  return {
    channels,
    async accept(account, messages) {
      const { touched, unbound } = await acceptMessages(deps, account, messages);
      if (touched.length > 0) {
        dispatches.wake();
        // Others are asked where this replica has its hands full; should it die, they look by themselves.
        if (!dispatcher.hasRoom) db.wake(MESSAGES_CHANNEL);
        for (const chat of touched) if (chat.isAnswered) planner.lookAt(chat);
      }
      return { unbound };
    },
    move: (account, chat) => moveChat(db, account, chat),
    turnRested: (turn) => dispatcher.turnRested(turn),
    runRested(run) {
      if (channels.has(run.channel)) planner.runRested(run);
    },
    async start() {
      const wake = () => dispatches.wake();
      listeners.push(await db.listen(MESSAGES_CHANNEL, wake, wake));
      const { accounts } = deps;
      listeners.push(await db.listen(ACCOUNTS_CHANNEL, accounts.forget, () => accounts.forget('')));
      for (const each of [dispatches, sends, plans]) each.start();
    },
    // Answers of turns that end while this server drains go out too.
    async drain() {
      for (const unlisten of listeners.splice(0)) await unlisten();
      await dispatches.stop();
      await attachments.stop();
      await dispatcher.drain();
    },
    async stop() {
      for (const unlisten of listeners.splice(0)) await unlisten();
      await dispatches.stop();
      await attachments.stop();
      await dispatcher.drain();
      typing.stop();
      await live.stop();
      await planner.stop();
      await plans.stop();
      await sends.stop();
      await sender.stop();
    },
  };
}
