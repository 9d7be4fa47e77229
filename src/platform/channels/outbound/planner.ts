/**
 * Makes messages of answers as soon as their runs rest. A conversation's answers are planned in its order, whoever sees
 * first that one is there; what a replica that dies has not planned is found by a sweep.
 */
import { setImmediate as nextTick } from 'node:timers/promises';
import type { Database } from '../../../kernel/db/database.ts';
import type { Engine } from '../../engine/index.ts';
import type { Channel } from '../channel.ts';
import type { ChannelFiles } from '../channel-files.ts';
import {
  type ChatPlace,
  listForgotten,
  listOpenAnswers,
  type OpenAnswer,
  type PlannedAnswer,
  planAnswers,
  type RunOfAnswer,
} from './answer-store.ts';
import { composeAnswer } from './compose-answer.ts';

/** Conversations that one sweep looks after. */
const CHATS_A_SWEEP = 200;

export interface PlannerDependencies {
  readonly db: Database;
  readonly engine: Engine;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly files: ChannelFiles;
  readonly now: () => Date;
  readonly logger: { warn(fields: object, message: string): void };
  /** There are messages to be sent, so soon. */
  readonly onPlanned: (waitMs: number) => void;
}

export interface Planner {
  /** There may be something to say in this conversation. */
  lookAt(chat: ChatPlace): void;
  /** A run of a channel rests. */
  runRested(run: RunOfAnswer): void;
  /** Looks for what nobody has planned. Resolves with 0 where it has found some: what cannot be planned now is tried again soon. */
  sweep(signal: AbortSignal): Promise<number | undefined>;
  stop(): Promise<void>;
}

export function createPlanner(deps: PlannerDependencies): Planner {
  const { db, channels, logger } = deps;
  const stopping = new AbortController();
  let chats: ChatPlace[] = [];
  let runs: RunOfAnswer[] = [];
  let planning: Promise<void> | undefined;

  async function planWaiting(): Promise<void> {
    await nextTick();
    while ((chats.length > 0 || runs.length > 0) && !stopping.signal.aborted) {
      const [someChats, someRuns] = [chats, runs];
      chats = [];
      runs = [];
      try {
        await planAll(await listOpenAnswers(db, someChats, someRuns));
      } catch (error) {
        logger.warn({ err: error }, 'answers were not planned; they are looked for in a while');
      }
    }
    // In the same step as the last look at what waits.
    planning = undefined;
  }

  /** Those of one place one after the other, the first of all places together. */
  async function planAll(answers: readonly OpenAnswer[]): Promise<void> {
    const byPlace = new Map<string, OpenAnswer[]>();
    for (const answer of answers) {
      const place = JSON.stringify([answer.project_id, answer.kind, answer.account_id, answer.chat]);
      byPlace.set(place, [...(byPlace.get(place) ?? []), answer]);
    }
    let rest = [...byPlace.values()];
    while (rest.length > 0) {
      const planned = await Promise.all(rest.map(([first]) => (first === undefined ? undefined : compose(first))));
      const usable = planned.filter((answer) => answer !== undefined);
      const now = deps.now();
      const done = usable.length === 0 ? new Map<string, Date | null>() : await planAnswers(db, usable, now);
      const waitsMs = [...done.values()].flatMap((dueAt) => (dueAt === null ? [] : [dueAt.getTime() - now.getTime()]));
      for (const waitMs of new Set(waitsMs)) deps.onPlanned(waitMs);
      // Planned by somebody else, or shown since it was read: its place is looked at anew.
      const changed = rest.filter((_, index) => planned[index] !== undefined && !done.has(planned[index].id));
      for (const answer of changed.flat()) chats.push({ projectId: answer.project_id, chatId: answer.chat_id });
      // Behind one that could not be composed nothing is said.
      rest = rest
        .filter((_, index) => planned[index] !== undefined && done.has(planned[index].id))
        .map((some) => some.slice(1))
        .filter((some) => some.length > 0);
    }
  }

  /** Undefined: not now. */
  async function compose(answer: OpenAnswer): Promise<PlannedAnswer | undefined> {
    const channel = channels.get(answer.kind);
    if (channel === undefined) return undefined;
    try {
      return await composeAnswer(deps, channel, answer, stopping.signal);
    } catch (error) {
      logger.warn(
        { err: error, answer: answer.id, runId: answer.run_id },
        'an answer was not composed; it is tried again',
      );
      return undefined;
    }
  }

  function plan(): void {
    planning ??= planWaiting();
  }

  return {
    lookAt(chat) {
      chats.push(chat);
      plan();
    },
    runRested(run) {
      runs.push(run);
      plan();
    },
    async sweep(signal) {
      const forgotten = await listForgotten(db, CHATS_A_SWEEP);
      if (signal.aborted || forgotten.length === 0) return undefined;
      chats.push(...forgotten);
      plan();
      await planning;
      return 0;
    },
    async stop() {
      stopping.abort(new Error('this server stops'));
      await planning;
    },
  };
}
