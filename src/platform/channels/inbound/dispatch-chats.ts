/**
 * Messages that wait, each answered by one turn, in order.
 *
 *   waiting ──claim──▶ waiting, leased ──turn begun──▶ started
 *     ▲                     │     ├──── none can begin ──▶ failed, and its sender is told so
 *     │                     │     └──── /stop ──▶ ignored
 *     └── busy, full, files under way, or lease over
 */
import type { Database } from '../../../kernel/db/database.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { Metrics } from '../../../kernel/metrics/metrics.ts';
import { cancelTurn, type Engine, type LiveTurn } from '../../engine/index.ts';
import type { Segment } from '../../surfaces/index.ts';
import { type Attempted, Dispatcher, judgeFailure, resumeQueues } from '../../turn-queues/index.ts';
import type { Channel } from '../channel.ts';
import { FAILED_SENTENCE, NOTHING_TO_STOP_SENTENCE, STOPPED_SENTENCE } from '../sentences.ts';
import { type Attachments, hasUnfetched } from './attachments.ts';
import { provisionSender } from './provision-sender.ts';
import {
  CHATS,
  type ClaimedChat,
  type ClaimedContents,
  claimChats,
  listOpenRuns,
  type SettledChat,
  settleChats,
  type WaitingChat,
  type WaitingMessage,
} from './queue-store.ts';
import { albumWaitMs, nextBatch, startChatTurn } from './start-turn.ts';

/** Few: what is accepted meanwhile shares the processor and the connections with them. */
const MAX_STARTS = 8;
/** Failures in a row, of a database that answers, until messages are given up. */
const MAX_FAILURES = 10;
/** Claims that nobody settled, as whoever begins the turn dies of it. */
const MAX_CLAIMS = 5;

const GIVEN_UP = { code: 'internal_error', message: 'The turn could not be begun, several times in a row.' };
const NOT_BUILT = { code: 'unsupported', message: 'This server does not serve the channel.' };

export interface ChatDependencies {
  readonly db: Database;
  readonly engine: Engine;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly attachments: Attachments;
  readonly now: () => Date;
  readonly logger: { warn(fields: object, message: string): void };
  readonly metrics: Metrics;
  /** There is room for more, or something is due. */
  readonly wake: () => void;
  /** A turn has begun for the conversation. */
  readonly onBegun: (chat: WaitingChat, last: WaitingMessage, turn: ShownTurn) => void;
  /** These messages get no answer of their own. */
  readonly onPassed: (chat: ClaimedContents, messages: readonly Pick<WaitingMessage, 'sealed_reply'>[]) => void;
  /** There may be something to say in the conversation. */
  readonly onSaid: (chat: { readonly projectId: string; readonly chatId: string }) => void;
}

/** A turn that goes on at this replica. */
export interface ShownTurn {
  readonly segment: Segment;
  readonly live: LiveTurn;
}

type Outcome = Attempted<SettledChat>;

export function createChatDispatcher(deps: ChatDependencies): Dispatcher<ClaimedChat, SettledChat> {
  const { db, engine, channels, attachments, now, logger, wake } = deps;
  const lag = deps.metrics.histogram(
    'channel_lag_seconds',
    'Time from when a message of a channel was accepted until its turn began or was refused, by channel and outcome: started or failed',
    ['channel', 'outcome'],
  );

  async function attempt(queue: ClaimedChat): Promise<Outcome> {
    const { contents: chat } = queue;
    // Its deployment has been deleted.
    if (chat === null) return { settled: undefined, outcome: 'other' };
    if (chat.stop_at !== null) return stop(chat, chat.stop_at);
    if (chat.messages.length === 0) return leave(chat, { up_to: chat.received, outcome: 'next' });
    const channel = channels.get(chat.kind);
    if (channel === undefined) return fail(chat, nextBatch(chat), NOT_BUILT);
    if (queue.claims > MAX_CLAIMS) return giveUp(chat, undefined);
    const albumMs = albumWaitMs(nextBatch(chat));
    if (albumMs > 0) return leave(chat, { outcome: 'busy', wait_ms: Math.ceil(albumMs) });
    try {
      const known = await provisionSender(db, chat);
      return hasUnfetched(known) ? fetchFiles(channel, known) : await begin(channel, queue, known);
    } catch (error) {
      return judge(queue, chat, error);
    }
  }

  async function begin(channel: Channel, queue: ClaimedChat, chat: WaitingChat): Promise<Outcome> {
    const isRepeated = queue.claims > 1 || queue.failures > 0;
    const isShown = channel.live !== undefined;
    const { begun, batch } = await startChatTurn(engine, chat, { isRepeated, isShown });
    const { segment, live } = begun;
    observe('started', chat, batch);
    const last = batch.at(-1);
    if (live !== undefined && last !== undefined) deps.onBegun(chat, last, { segment, live });
    let isOver = live === undefined;
    void live?.done.finally(() => {
      isOver = true;
    });
    return {
      settled: started(chat, batch, segment.run.id),
      outcome: 'begun',
      done: live?.done,
      onSettled() {
        // A turn that ends later is told of; this one has ended before there was a row for its answer.
        if (isOver) tell(chat)();
        passAllBut(chat, batch, replyOf(batch));
      },
    };
  }

  /** No turn could be begun. */
  function judge(queue: ClaimedChat, chat: ClaimedContents, error: unknown): Outcome {
    const failure = judgeFailure(error);
    switch (failure.kind) {
      case 'busy':
        return { ...leave(chat, { outcome: 'busy' }), outcome: 'busy' };
      case 'full':
        return { ...leave(chat, { outcome: 'next' }), outcome: 'full' };
      case 'failed':
        if (queue.failures >= MAX_FAILURES && !failure.isUnavailable) return giveUp(chat, error);
        logger.warn({ err: error, chat: chat.id }, 'a turn could not be begun; it is tried again');
        return leave(chat, { outcome: 'failed' });
      case 'refused':
        logger.warn({ err: error, chat: chat.id, projectId: chat.project_id }, 'messages get no answer');
        return fail(chat, nextBatch(chat), failure.error);
    }
  }

  /** The conversation stays claimed until its files are there. */
  function fetchFiles(channel: Channel, chat: WaitingChat): Outcome {
    attachments
      .fetch(channel, chat)
      .then(() => settleChats(db, [settledAs(chat, { outcome: 'next' })], now()))
      .then(wake)
      .catch((error: unknown) => {
        logger.warn({ err: error, chat: chat.id }, 'files of messages were not saved; they are fetched again');
      });
    return { settled: undefined, outcome: 'other' };
  }

  async function stop(chat: ClaimedContents, stopAt: number): Promise<Outcome> {
    const runs = await listOpenRuns(db, chat);
    for (const { id: runId, smith_id: smithId } of runs) {
      await cancelTurn(engine, { projectId: chat.project_id, smithId, runId });
    }
    const stopped = [...runs, ...chat.messages.filter(({ position }) => position <= stopAt)];
    const sentence = stopped.length > 0 ? STOPPED_SENTENCE : NOTHING_TO_STOP_SENTENCE;
    const reply = replyOf(stopped);
    const settled = settledAs(chat, {
      up_to: stopAt,
      state: 'ignored',
      stopped: stopAt,
      answer: { id: mintId('ans'), sentence, sealed_reply: reply },
      outcome: 'next',
    });
    return {
      settled,
      outcome: 'other',
      onSettled() {
        tell(chat)();
        passAllBut(chat, stopped, reply);
      },
    };
  }

  function giveUp(chat: ClaimedContents, error: unknown): Outcome {
    logger.warn({ err: error, chat: chat.id, projectId: chat.project_id }, 'messages are given up');
    return fail(chat, nextBatch(chat), GIVEN_UP);
  }

  function fail(
    chat: ClaimedContents,
    batch: readonly WaitingMessage[],
    error: { readonly code: string; readonly message: string },
  ): Outcome {
    observe('failed', chat, batch);
    const settled = settledAs(chat, {
      up_to: batch.at(-1)?.position,
      state: 'failed',
      error,
      answer: { id: mintId('ans'), sentence: FAILED_SENTENCE, sealed_reply: replyOf(batch) },
      outcome: 'next',
    });
    return { settled, outcome: 'other', onSettled: tell(chat) };
  }

  function tell(chat: ClaimedContents): () => void {
    return () => deps.onSaid({ projectId: chat.project_id, chatId: chat.id });
  }

  function passAllBut(chat: ClaimedContents, messages: readonly Replied[], answered: string | null): void {
    deps.onPassed(
      chat,
      messages.filter(({ sealed_reply }) => sealed_reply !== answered),
    );
  }

  function observe(outcome: 'started' | 'failed', { kind }: ClaimedContents, batch: readonly WaitingMessage[]): void {
    for (const { age_ms } of batch) lag.observe({ channel: kind, outcome }, Math.max(0, age_ms) / 1_000);
  }

  const queues = {
    claim: (request: Parameters<typeof claimChats>[1]) => claimChats(db, request),
    read: async () => attempt,
    settle: (settled: readonly SettledChat[]) => settleChats(db, settled, now()),
    resume: (owners: Parameters<typeof resumeQueues>[2]) => resumeQueues(db, CHATS, owners, now()),
  };
  return new Dispatcher({ queues, maxStarts: MAX_STARTS, logger, wake }, now);
}

type Ending = Partial<SettledChat> & Pick<SettledChat, 'outcome'>;

function settledAs({ project_id, id }: ClaimedContents, ending: Ending): SettledChat {
  return {
    ...{ project_id, id, up_to: undefined, state: undefined, run_id: undefined, error: undefined },
    ...{ stopped: undefined, answer: undefined, events: [], actor: undefined, wait_ms: undefined },
    ...ending,
  };
}

function leave(chat: ClaimedContents, ending: Ending): Outcome {
  return { settled: settledAs(chat, ending), outcome: 'other' };
}

function started(chat: WaitingChat, batch: readonly WaitingMessage[], runId: string): SettledChat {
  const { kind, deployment_id, smith_id } = chat;
  return settledAs(chat, {
    up_to: batch.at(-1)?.position,
    state: 'started',
    run_id: runId,
    answer: { id: mintId('ans'), sentence: null, sealed_reply: replyOf(batch) },
    events: batch.map(({ id }) => ({
      id: mintId('evt'),
      type: 'deployment.inbound',
      data: { kind, channel_id: deployment_id, triggered_run_id: runId, inbound_event_id: id },
    })),
    actor: { kind: 'smith', id: smith_id, token_id: '', email: '' },
    outcome: 'next',
  });
}

type Replied = Pick<WaitingMessage, 'sealed_reply'>;

/** What the answer needs at its provider: the newest lives longest. */
function replyOf(batch: readonly Replied[]): string | null {
  return batch.findLast(({ sealed_reply }) => sealed_reply !== null)?.sealed_reply ?? null;
}
