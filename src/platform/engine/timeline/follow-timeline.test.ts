import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startPlatform } from '../../../../test/support/platform.ts';
import { makeSmith } from '../../../../test/support/turns.ts';
import type { Database } from '../../../kernel/db/database.ts';
import type { EventSink } from '../../../kernel/http/event-stream.ts';
import { SEQ_JUMP } from '../turn.ts';
import { streamTimeline } from './follow-timeline.ts';
import { LiveTurn } from './live-turn.ts';
import { createRunSignals, type RunSignals } from './run-signals.ts';

/** After which a reader that never comes to the end gives up. */
const TIMEOUT_MS = 60_000;

const platform = await startPlatform();
const signals = createRunSignals(platform.db, (error) => assert.fail(String(error)));
after(() => platform.close());

interface ForeignRun {
  readonly key: { readonly projectId: string; readonly smithId: string; readonly runId: string };
  readonly lastSeq: number;
  /** Ends it, as the replica that executes it would. */
  end(): Promise<void>;
}

/** A run of which the end is still to come, on a replica that is not this one. */
async function makeForeignRun(): Promise<ForeignRun> {
  const { db } = platform;
  const smith = await makeSmith(platform);
  const { projectId } = smith.project;
  const { body: run } = await smith.ask('Hello');
  await db.query({
    text: `
      insert into replicas (id, heartbeat_at) values ('rep_elsewhere', now() + interval '1 hour')
      on conflict (id) do nothing`,
    values: [],
  });
  await db.query({
    text: `update runs set status = 'in_progress', replica_id = 'rep_elsewhere' where project_id = $1 and id = $2`,
    values: [projectId, run.id],
  });
  const { rows } = await db.query<{ seq: number; data: object }>({
    text: `delete from run_events where project_id = $1 and run_id = $2 and type = 'run.completed' returning seq, data`,
    values: [projectId, run.id],
  });
  const [closing] = rows;
  assert.ok(closing !== undefined);
  return {
    key: { projectId, smithId: smith.id, runId: run.id },
    lastSeq: closing.seq - 1,
    async end() {
      await db.query({
        text: `
          with run as (update runs set status = 'completed' where project_id = $1 and id = $2)
          insert into run_events (project_id, run_id, seq, type, data) values ($1, $2, $3, 'run.completed', $4)`,
        values: [projectId, run.id, closing.seq, JSON.stringify(closing.data)],
      });
      signals.announce([run.id]);
    },
  };
}

const READ_FRAMES = /^\s*select seq, type, data, created_at from run_events/;
const READ_STATUS = /^select status from runs/;

/** The store, with something that happens right after a reader has first sent a statement like `pattern`. */
function interrupt(pattern: RegExp, happen: () => Promise<void>): { store: Database; count: () => number } {
  const { db } = platform;
  let looks = 0;
  const store: Database = {
    kind: db.kind,
    use: db.use,
    async query(statement) {
      const answer = await db.query(statement);
      if (pattern.test(statement.text) && ++looks === 1) await happen();
      return answer as never;
    },
    transaction: (work) => db.transaction(work),
    wake: (channel) => db.wake(channel),
    notify: (channel, payload) => db.notify(channel, payload),
    listen: (channel, onMessage, onGap) => db.listen(channel, onMessage, onGap),
    ping: () => db.ping(),
    close: () => db.close(),
  };
  return { store, count: () => looks };
}

/** Reads the run's frames behind the last one that it has so far, to the end. */
async function readRest(run: ForeignRun, db: Database, live?: LiveTurn, heard: RunSignals = signals): Promise<string> {
  let text = '';
  const sink: EventSink = {
    behind: false,
    write(frames) {
      text += frames;
      return true;
    },
    drained: async () => {},
  };
  const reader = { db, signals: heard, findLive: () => live, draining: new AbortController().signal };
  await streamTimeline(reader, run.key, run.lastSeq)(sink, AbortSignal.timeout(TIMEOUT_MS));
  return text;
}

test('a run that ends between a reader’s look for frames and its look at the run is read to its end', async () => {
  const run = await makeForeignRun();
  const { store } = interrupt(READ_FRAMES, () => run.end());
  assert.match(await readRest(run, store), /^event: run\.completed$/m);
});

test('a reader is woken by a change that comes between its look and its wait', async () => {
  const run = await makeForeignRun();
  const { store } = interrupt(READ_STATUS, () => run.end());
  // By itself it never looks again, so that the change alone can wake it.
  const patient: RunSignals = {
    ...signals,
    watch(runId) {
      const watch = signals.watch(runId);
      return { next: (_, signal) => watch.next(2 * TIMEOUT_MS, signal), close: () => watch.close() };
    },
  };
  assert.match(await readRest(run, store, undefined, patient), /^event: run\.completed$/m);
});

test('a reader of an attempt of which nothing is stored yet looks at the store at most twice before it listens', async () => {
  const run = await makeForeignRun();
  const live = new LiveTurn({ ...run.key, threadId: 'thr_1', turn: 1, attempt: 2 }, run.lastSeq + SEQ_JUMP);
  const { promise: listening, resolve: noteListening } = Promise.withResolvers<void>();
  const listen = live.listen.bind(live);
  live.listen = (listener) => {
    noteListening();
    return listen(listener);
  };
  const { store, count } = interrupt(READ_FRAMES, async () => {});
  const rest = readRest(run, store, live);
  await Promise.race([listening, rest]);
  live.emit('run.restarted', { attempt: 2, step: 0 });
  live.emit('run.completed', {});
  live.end(undefined);
  assert.match(await rest, /^event: run\.restarted$[\s\S]*^event: run\.completed$/m);
  assert.ok(count() <= 2, `${count()} looks`);
});
