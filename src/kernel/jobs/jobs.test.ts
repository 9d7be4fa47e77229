import assert from 'node:assert/strict';
import { afterEach, before, describe, it } from 'node:test';
import { describeOnEachStore } from '../../../test/support/database.ts';
import { eventually } from '../../../test/support/turns.ts';
import { createManualClock, runWithClock } from '../clock/clock.ts';
import type { Database, Statement } from '../db/database.ts';
import { StoreUnreachableError } from '../db/sql-errors.ts';
import { createJobs, type Job, type Jobs, type JobsLogger, type JobsOptions, type QueueOptions } from './jobs.ts';
import { SPARE_RUNS } from './queue-runner.ts';

interface Data {
  readonly n: number;
}

/** Of the queues: the program's own, and then that of pg-boss. */
const READ_AT_START = 2;
/** By which the time of a process goes on each time that a test asks whether what it waits for is there. */
const STEP_MS = 200;
const silent: JobsLogger = { warn: () => undefined, error: () => undefined };

/** Collects runs, and resolves when there are as many as wanted. */
class Runs {
  readonly seen: Job<Data>[] = [];
  readonly #waiting: Array<{ count: number; resolve: () => void }> = [];

  add(job: Job<Data>): void {
    this.seen.push(job);
    for (const { count, resolve } of this.#waiting) if (this.seen.length >= count) resolve();
  }

  async reach(count: number): Promise<void> {
    if (this.seen.length >= count) return;
    await new Promise<void>((resolve) => this.#waiting.push({ count, resolve }));
  }
}

describeOnEachStore('jobs', { sources: [] }, (current) => {
  const started: Jobs[] = [];
  let names = 0;

  for (const code of ['23505', '42710', '42P07']) {
    it(`the start of jobs goes on when another process made a table meanwhile, which the store calls ${code}`, async () => {
      const { db } = current();
      const first = createJobs(db, { logger: silent });
      await first.start();
      await first.stop();
      await db.query({ text: 'drop table jobs.abrupt_end' });
      let refused = 0;
      const query: Database['query'] = async (statement) => {
        const answer = await db.query<never>(statement);
        if (refused > 0 || !statement.text.includes('create table if not exists jobs.abrupt_end')) return answer;
        refused += 1;
        throw Object.assign(new Error('type "abrupt_end" already exists'), { code });
      };
      const refusing = new Proxy(db, {
        get(target, member) {
          const value: unknown = member === 'query' ? query : Reflect.get(target, member, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
      const second = createJobs(refusing, { logger: silent });
      await second.start();
      await second.stop();
      assert.equal(refused, 1);
    });
  }

  /** A queue of its own for each test, so that tests share the database. */
  async function startQueue(
    handler: (job: Job<Data>) => Promise<void>,
    options?: QueueOptions & Partial<JobsOptions> & { readonly name?: string; readonly db?: Database },
  ): Promise<{ jobs: Jobs; name: string }> {
    names += 1;
    const name = options?.name ?? `queue-${names}`;
    const jobs = createJobs(options?.db ?? current().db, {
      logger: options?.logger ?? silent,
      pollIntervalMs: 100,
      superviseSeconds: 1,
      ...(options?.processesKeepEnding && { processesKeepEnding: options.processesKeepEnding }),
      ...(options?.holdJob && { holdJob: options.holdJob }),
    });
    jobs.define<Data>(name, handler, options);
    started.push(jobs);
    await jobs.start();
    return { jobs, name };
  }

  /** A process whose time goes by only while something is waited for by its `until`: meanwhile it sends no sign of life. */
  async function startStill(...args: Parameters<typeof startQueue>) {
    const clock = createManualClock(new Date());
    const queue = await runWithClock(clock, () => startQueue(...args));
    const until = <Value>(probe: () => Promise<Value | undefined> | Value | undefined, what: string) =>
      eventually(() => {
        clock.advance(STEP_MS);
        return probe();
      }, what);
    return { ...queue, until };
  }

  /** The same as a minute without a sign of life of whatever runs jobs of this queue, and the next supervision is due. */
  async function endAbruptly(name: string): Promise<void> {
    await current().db.query({
      text: `update jobs.job set heartbeat_on = now() - interval '1 minute', retry_delay = 0, retry_backoff = false
             where name = $1 and state = 'active'`,
      values: [name],
    });
    await current().db.query({
      text: 'update jobs.queue set monitor_claim_on = null, monitor_on = null where name = $1',
      values: [name],
    });
  }

  async function statesOf(name: string): Promise<string[]> {
    const { rows } = await current().db.query<{ state: string }>({
      text: 'select state::text from jobs.job where name = $1 order by state',
      values: [name],
    });
    return rows.map(({ state }) => state);
  }

  before(async () => {
    // Creates the schema once; the tests after it only find it.
    const { jobs } = await startQueue(async () => undefined);
    await jobs.stop();
  });
  afterEach(async () => {
    await Promise.all(started.splice(0).map((jobs) => jobs.stop({ graceMs: 0 })));
  });

  it('a job runs once its transaction commits', async () => {
    const runs = new Runs();
    const { jobs, name } = await startQueue(async (job) => runs.add(job));
    let id: string | undefined;
    await current().db.transaction(async (tx) => {
      id = await jobs.enqueue(tx, name, { n: 1 });
    });
    await runs.reach(1);
    const [run] = runs.seen;
    assert.deepEqual({ id: run?.id, data: run?.data, attempt: run?.attempt }, { id, data: { n: 1 }, attempt: 1 });
    await jobs.stop();
    assert.deepEqual(await statesOf(name), ['completed']);
  });

  it('a process enqueues in a transaction for a queue that another process makes while it starts', async () => {
    const { db } = current();
    names += 1;
    const name = `queue-${names}`;
    let reads = 0;
    // What it knows of queues is read when its own start begins: the other one makes this queue just then.
    const query: Database['query'] = async (statement) => {
      const answer = await db.query(statement);
      if (!/from\s+"?jobs"?\."?queue/i.test(statement.text)) return answer as never;
      reads += 1;
      if (reads === READ_AT_START) await startQueue(async () => undefined, { name });
      return answer as never;
    };
    const late = new Proxy(db, {
      get: (target, key) => {
        if (key === 'query') return query;
        const value: unknown = Reflect.get(target, key);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const { jobs } = await startQueue(async () => undefined, { name, db: late });
    assert.ok(reads >= READ_AT_START);
    await db.transaction(async (tx) => assert.ok(await jobs.enqueue(tx, name, { n: 1 })));
  });

  it('a process enqueues in a transaction for a queue whose settings it has changed', async () => {
    const { name } = await startQueue(async () => undefined, { timeoutSeconds: 30 });
    const { jobs } = await startQueue(async () => undefined, { name, timeoutSeconds: 60 });
    await current().db.transaction(async (tx) => assert.ok(await jobs.enqueue(tx, name, { n: 1 })));
  });

  it('a job that waits for the first process of a release enqueues others as soon as it is taken', async () => {
    const { db } = current();
    const before = await startQueue(async () => undefined, { timeoutSeconds: 30 });
    await before.jobs.enqueue(db, before.name, { n: 1 }, { startAfter: new Date(Date.now() + 60_000) });
    await before.jobs.stop();
    await db.query({ text: 'update jobs.job set start_after = now() where name = $1', values: [before.name] });
    const refusals: unknown[] = [];
    const done = Promise.withResolvers<void>();
    const jobs = createJobs(db, { logger: silent });
    started.push(jobs);
    jobs.define<Data>(
      before.name,
      async () => {
        await db
          .transaction((tx) => jobs.enqueue(tx, `${before.name}-next`, { n: 2 }))
          .catch((error) => refusals.push(error));
        done.resolve();
      },
      { timeoutSeconds: 60 },
    );
    jobs.define<Data>(`${before.name}-next`, async () => undefined);
    await jobs.start();
    await done.promise;
    assert.deepEqual(refusals, []);
  });

  it('a job of a transaction that rolls back does not exist', async () => {
    const { jobs, name } = await startQueue(async () => undefined);
    const undone = current().db.transaction(async (tx) => {
      await jobs.enqueue(tx, name, { n: 1 });
      throw new Error('undo');
    });
    await assert.rejects(undone, /undo/);
    assert.deepEqual(await statesOf(name), []);
  });

  it('a job that throws runs again until its retries are used up', async () => {
    const runs = new Runs();
    const messages: string[] = [];
    const logger: JobsLogger = { warn: (_, text) => messages.push(text), error: (_, text) => messages.push(text) };
    const { jobs, name } = await startQueue(
      async (job) => {
        runs.add(job);
        throw new Error('no luck');
      },
      { retryLimit: 2, retryDelaySeconds: 0, logger },
    );
    await jobs.enqueue(current().db, name, { n: 1 });
    await runs.reach(3);
    await jobs.stop();
    assert.deepEqual(
      runs.seen.map(({ attempt }) => attempt),
      [1, 2, 3],
    );
    assert.deepEqual(await statesOf(name), ['failed']);
    const again = 'a job failed and will run again';
    assert.deepEqual(messages, [again, again, 'a job failed for the last time']);
  });

  it('no more jobs run at a time than the queue allows, and all of them run', async () => {
    const runs = new Runs();
    let running = 0;
    let most = 0;
    const { jobs, name } = await startQueue(
      async (job) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        runs.add(job);
      },
      { concurrency: 3 },
    );
    await Promise.all(Array.from({ length: 30 }, (_, n) => jobs.enqueue(current().db, name, { n })));
    await runs.reach(30);
    assert.equal(most, 3);
    const numbers = runs.seen.map(({ data }) => data.n).sort((a, b) => a - b);
    assert.deepEqual(
      numbers,
      Array.from({ length: 30 }, (_, n) => n),
    );
  });

  it('one job waits for each singleton key, and another may be added once it runs', async () => {
    const runs = new Runs();
    const finish = Promise.withResolvers<void>();
    const { jobs, name } = await startQueue(
      async (job) => {
        runs.add(job);
        await finish.promise;
      },
      { concurrency: 1 },
    );
    const enqueue = (key: string) => jobs.enqueue(current().db, name, { n: 1 }, { singletonKey: key });
    assert.ok(await enqueue('a'));
    await runs.reach(1);
    assert.ok(await enqueue('a'));
    assert.equal(await enqueue('a'), undefined);
    assert.ok(await enqueue('b'));
    finish.resolve();
    await runs.reach(3);
  });

  it('a job does not run before its time', async () => {
    const runs = new Runs();
    const { db, shiftTime } = current();
    const { jobs, name } = await startQueue(async (job) => runs.add(job));
    await jobs.enqueue(db, name, { n: 2 }, { startAfter: new Date(Date.now() + 3_600_000) });
    await jobs.enqueue(db, name, { n: 1 });
    await runs.reach(1);
    await shiftTime(3_600_000);
    await runs.reach(2).finally(() => shiftTime(0));
    assert.deepEqual(
      runs.seen.map(({ data }) => data.n),
      [1, 2],
    );
  });

  it('a job whose process died runs again elsewhere, and the dead one’s late answer changes nothing', async () => {
    const dead = new Runs();
    const alive = new Runs();
    const late = Promise.withResolvers<void>();
    const first = await startStill(
      async (job) => {
        dead.add(job);
        await late.promise;
        throw new Error('too late');
      },
      { concurrency: 1 },
    );
    await first.jobs.enqueue(current().db, first.name, { n: 1 });
    await dead.reach(1);
    const finish = Promise.withResolvers<void>();
    const second = await startStill(
      async (job) => {
        alive.add(job);
        await finish.promise;
      },
      { name: first.name },
    );
    await endAbruptly(first.name);
    await second.until(() => alive.seen[0], 'the other process takes it');
    assert.equal(alive.seen[0]?.id, dead.seen[0]?.id);
    assert.equal(alive.seen[0]?.attempt, 2);
    late.resolve();
    await first.jobs.stop();
    finish.resolve();
    await Promise.all(started.splice(0).map((jobs) => jobs.stop()));
    assert.deepEqual(await statesOf(first.name), ['completed']);
    assert.equal(alive.seen.length, 1);
  });

  it('a run that a process lost and took again itself is its own: the late end of the first changes nothing', async () => {
    const runs = new Runs();
    const ends = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { jobs, name, until } = await startStill(async (job) => {
      runs.add(job);
      await ends[job.attempt - 1]?.promise;
    });
    await jobs.enqueue(current().db, name, { n: 1 });
    await runs.reach(1);
    // As an outage of the database does.
    await endAbruptly(name);
    await until(() => runs.seen[1], 'the process takes it again');
    ends[0]?.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    ends[1]?.resolve();
    await jobs.stop();
    assert.deepEqual(await statesOf(name), ['completed']);
  });

  describe('a job whose process ends abruptly', () => {
    /** What a process that ended, and those after it, saw: each takes one job and ends while the job runs. */
    async function startMortal(
      options: NonNullable<Parameters<typeof startQueue>[1]>,
      work: (job: Job<Data>) => Promise<void> = async () => undefined,
    ) {
      const runs = new Runs();
      const end = Promise.withResolvers<void>();
      const queue = await startStill(
        async (job) => {
          await work(job);
          runs.add(job);
          await end.promise;
        },
        { concurrency: 1, ...options },
      );
      const takesOne = () => queue.until(() => runs.seen[0], 'the process takes a job');
      return { ...queue, runs, end, takesOne };
    }

    it('is given up after two such ends, and the log says why', async () => {
      const first = await startMortal({});
      await first.jobs.enqueue(current().db, first.name, { n: 1 });
      await first.runs.reach(1);
      const second = await startMortal({ name: first.name });
      await endAbruptly(first.name);
      assert.equal((await second.takesOne()).abruptEnds, 1);
      const given: string[] = [];
      const logger: JobsLogger = { warn: () => undefined, error: (_, text) => given.push(text) };
      const third = await startMortal({ name: first.name, logger });
      await endAbruptly(first.name);
      assert.equal(
        await third.until(() => given[0], 'the job is given up'),
        'a job is given up: its process ended abruptly 2 times while it ran, without progress between them',
      );
      await third.jobs.stop();
      assert.deepEqual(await statesOf(first.name), ['failed']);
      assert.equal(third.runs.seen.length, 0);
      for (const { end } of [first, second]) end.resolve();
    });

    describe('while processes keep ending', () => {
      /** The job of `name`, once it has been put off. */
      async function putOff({ name, until }: Awaited<ReturnType<typeof startStill>>) {
        return until(async () => {
          const { rows } = await current().db.query<{ retry_count: number }>({
            text: `select retry_count from jobs.job
                   where name = $1 and state = 'retry' and start_after > now() and output is null`,
            values: [name],
          });
          return rows[0];
        }, 'the job is put off');
      }

      async function makeReady(name: string): Promise<void> {
        await current().db.query({ text: 'update jobs.job set start_after = now() where name = $1', values: [name] });
      }

      it('waits until they do not, which counts as no run', async () => {
        const options = { retryLimit: 1, retryDelaySeconds: 0 };
        const first = await startMortal(options);
        await first.jobs.enqueue(current().db, first.name, { n: 1 });
        await first.runs.reach(1);
        let keepEnding = true;
        const second = await startMortal({ ...options, name: first.name, processesKeepEnding: async () => keepEnding });
        await endAbruptly(first.name);
        for (let times = 1; times <= 4; times += 1) {
          assert.deepEqual(await putOff(second), { retry_count: 1 });
          await makeReady(first.name);
        }
        await putOff(second);
        keepEnding = false;
        assert.equal(second.runs.seen.length, 0);
        await makeReady(first.name);
        const run = await second.takesOne();
        assert.deepEqual([run.abruptEnds, run.attempt], [1, 2]);
        for (const { end } of [first, second]) end.resolve();
        await second.until(
          async () => ((await statesOf(first.name))[0] === 'completed' ? true : undefined),
          'it is done',
        );
      });

      it('waits for a quarter of an hour at most', async () => {
        const first = await startMortal({});
        await first.jobs.enqueue(current().db, first.name, { n: 1 });
        await first.runs.reach(1);
        const second = await startMortal({ name: first.name, processesKeepEnding: async () => true });
        await endAbruptly(first.name);
        await putOff(second);
        await current().db.query({
          text: `update jobs.abrupt_end set counted_at = counted_at - interval '15 minutes'
                 where job_id = $1::uuid`,
          values: [first.runs.seen[0]?.id],
        });
        await makeReady(first.name);
        assert.equal((await second.takesOne()).abruptEnds, 1);
        for (const { end } of [first, second]) end.resolve();
      });
    });

    it('goes on however often that happens while it makes progress', async () => {
      const lives = [await startMortal({})];
      const name = lives[0]?.name ?? '';
      await lives[0]?.jobs.enqueue(current().db, name, { n: 1 });
      await lives[0]?.runs.reach(1);
      for (let life = 1; life <= 3; life += 1) {
        const next = await startMortal({ name }, (job) => job.keepProgress());
        lives.push(next);
        await endAbruptly(name);
        assert.equal((await next.takesOne()).abruptEnds, 1);
      }
      for (const { end } of lives) end.resolve();
      await Promise.all(started.splice(0).map((jobs) => jobs.stop()));
      assert.deepEqual(await statesOf(name), ['completed']);
    });

    it('has lost none of its ordinary retries', async () => {
      const options = { retryLimit: 1, retryDelaySeconds: 0 };
      const first = await startMortal(options);
      await first.jobs.enqueue(current().db, first.name, { n: 1 });
      await first.runs.reach(1);
      const failures = new Runs();
      let failed: true | undefined;
      const logger: JobsLogger = {
        warn: () => undefined,
        error: () => {
          failed = true;
        },
      };
      const second = await startMortal({ ...options, name: first.name, logger }, async (job) => {
        failures.add(job);
        throw new Error('no luck');
      });
      await endAbruptly(first.name);
      await second.until(() => failed, 'it has failed for the last time');
      assert.deepEqual(
        failures.seen.map(({ attempt }) => attempt),
        [2, 3],
      );
      await second.jobs.stop();
      assert.deepEqual(await statesOf(first.name), ['failed']);
      first.end.resolve();
    });

    it('runs alone among its like, and one that only waited is not counted again', async () => {
      const first = await startMortal({ concurrency: 3 });
      for (let n = 1; n <= 3; n += 1) await first.jobs.enqueue(current().db, first.name, { n });
      await first.runs.reach(3);
      const second = await startMortal({ name: first.name, concurrency: 3 });
      await endAbruptly(first.name);
      await second.takesOne();
      // All three are claimed, one has begun.
      assert.equal(await second.until(() => countBegun(second.runs, first.name), 'all are claimed'), 1);
      const { n } = second.runs.seen[0]?.data ?? {};
      const survivors = new Runs();
      const given: string[] = [];
      const logger: JobsLogger = { warn: () => undefined, error: (_, text) => given.push(text) };
      const third = await startStill(async (job) => survivors.add(job), { name: first.name, logger });
      await endAbruptly(first.name);
      await third.until(() => survivors.seen[1], 'two of them are run');
      assert.deepEqual(
        survivors.seen.map(({ data, abruptEnds }) => [data.n, abruptEnds]).sort(),
        [1, 2, 3].filter((each) => each !== n).map((each) => [each, 1]),
      );
      await third.until(() => given[0], 'one is given up');
      for (const { end } of [first, second]) end.resolve();
      await Promise.all(started.splice(0).map((jobs) => jobs.stop({ graceMs: 0 })));
      assert.deepEqual(await statesOf(first.name), ['completed', 'completed', 'failed']);
      assert.equal(second.runs.seen.length, 1);
    });

    /** The store as a process sees it that cannot reach it for a while. */
    function partition(db: Database) {
      const state = { isAway: false, refused: [] as string[] };
      const reached = new Proxy(db, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== 'function') return member;
          return (...args: unknown[]) => {
            if (!state.isAway || name !== 'query') return Reflect.apply(member, target, args);
            state.refused.push((args[0] as Statement).text);
            return Promise.reject(new StoreUnreachableError('away'));
          };
        },
      });
      return { db: reached, state };
    }

    async function countedOf(id: string | undefined): Promise<number | undefined> {
      const { rows } = await current().db.query<{ since_progress: number }>({
        text: 'select since_progress from jobs.abrupt_end where job_id = $1::uuid',
        values: [id],
      });
      return rows[0]?.since_progress;
    }

    it('is not told from one whose process lost the database until that is back: then it is not counted', async () => {
      const { db, state } = partition(current().db);
      const warnings: string[] = [];
      const logger: JobsLogger = { warn: (_, text) => warnings.push(text), error: () => undefined };
      const first = await startMortal({ db, logger });
      const id = await first.jobs.enqueue(current().db, first.name, { n: 1 });
      await first.runs.reach(1);
      state.isAway = true;
      await first.until(() => warnings.find((text) => text.includes('heartbeat')), 'a heartbeat has failed');
      const second = await startMortal({ name: first.name });
      await endAbruptly(first.name);
      assert.equal((await second.takesOne()).abruptEnds, 1);
      assert.equal(await countedOf(id), 1);
      state.isAway = false;
      await first.until(async () => ((await countedOf(id)) === 0 ? true : undefined), 'the outage is excused');
      // An end after that is one, not the second.
      const third = await startMortal({ name: first.name });
      await endAbruptly(first.name);
      assert.equal((await third.takesOne()).abruptEnds, 1);
      for (const { end } of [first, second, third]) end.resolve();
    });

    it('is not one that ended while its process could not reach the database, and said so when that was back', async () => {
      const { db, state } = partition(current().db);
      const { jobs, name, runs, end, until } = await startMortal({ db });
      await jobs.enqueue(current().db, name, { n: 1 });
      await runs.reach(1);
      state.isAway = true;
      end.resolve();
      const reports = () => state.refused.filter((text) => text.includes(`'completed'`)).length;
      await until(() => (reports() > 5 ? true : undefined), 'it has been tried again and again');
      state.isAway = false;
      const completed = async () => ((await statesOf(name))[0] === 'completed' ? true : undefined);
      await until(completed, 'the end is reported');
      assert.equal(runs.seen.length, 1);
    });

    /** How many handlers have begun, once every job is claimed. */
    async function countBegun(runs: Runs, name: string): Promise<number | undefined> {
      const states = await statesOf(name);
      return states.every((state) => state === 'active') ? runs.seen.length : undefined;
    }
  });

  it('one group does not take every place: others are run beside it', async () => {
    const runs = new Runs();
    const finish = Promise.withResolvers<void>();
    const { jobs, name } = await startQueue(
      async (job) => {
        runs.add(job);
        await finish.promise;
      },
      { concurrency: 4, concurrencyPerGroup: 3 },
    );
    for (let n = 1; n <= 10; n += 1) await jobs.enqueue(current().db, name, { n }, { group: 'many' });
    await runs.reach(3);
    await jobs.enqueue(current().db, name, { n: 100 }, { group: 'one' });
    await runs.reach(4);
    const seen = runs.seen.map(({ data }) => data.n);
    assert.deepEqual(seen.filter((n) => n < 100).length, 3);
    assert.deepEqual(seen.slice(3), [100]);
    finish.resolve();
    await runs.reach(11);
  });

  it('stopping waits for jobs that run, and gives back those that do not finish in time', async () => {
    const quick = new Runs();
    const finish = Promise.withResolvers<void>();
    const patient = await startQueue(async (job) => {
      quick.add(job);
      await finish.promise;
    });
    await patient.jobs.enqueue(current().db, patient.name, { n: 1 });
    await quick.reach(1);
    const stopped = patient.jobs.stop({ graceMs: 60_000 });
    finish.resolve();
    await stopped;
    assert.deepEqual(await statesOf(patient.name), ['completed']);

    const slow = new Runs();
    const hasty = await startQueue(async (job) => {
      slow.add(job);
      await new Promise((_, reject) => job.signal.addEventListener('abort', () => reject(job.signal.reason)));
    });
    await hasty.jobs.enqueue(current().db, hasty.name, { n: 1 });
    await slow.reach(1);
    await hasty.jobs.stop({ graceMs: 0 });
    assert.ok(slow.seen[0]?.signal.aborted);
    assert.deepEqual(await statesOf(hasty.name), ['retry']);
  });

  it('a job that processes give back as they stop has lost none of its runs', async () => {
    const name = 'given-back';
    const cutOff = async (job: Job<Data>): Promise<void> => {
      runs.add(job);
      await new Promise((_, reject) => job.signal.addEventListener('abort', () => reject(job.signal.reason)));
    };
    const runs = new Runs();
    for (let stops = 1; stops <= SPARE_RUNS + 2; stops += 1) {
      const { jobs } = await startQueue(cutOff, { name, retryLimit: 0 });
      if (stops === 1) await jobs.enqueue(current().db, name, { n: 1 });
      await runs.reach(stops);
      await jobs.stop({ graceMs: 0 });
      assert.deepEqual(await statesOf(name), ['retry'], `after ${stops} stops`);
    }
    assert.equal(runs.seen.at(-1)?.abruptEnds, 0);
  });

  it('a later release changes the settings of a queue; the same one writes nothing', async () => {
    const settings = async (options: QueueOptions) => {
      const { jobs, name } = await startQueue(async () => undefined, { ...options, name: 'changing' });
      await jobs.stop();
      const text = 'select retry_limit, expire_seconds, retry_backoff, updated_on from jobs.queue where name = $1';
      const { rows } = await current().db.query<Record<string, unknown>>({ text, values: [name] });
      return rows[0];
    };
    const first = await settings({ retryLimit: 5 });
    assert.deepEqual(await settings({ retryLimit: 5 }), first);
    const { updated_on, ...changed } =
      (await settings({ retryLimit: 6, timeoutSeconds: 20, retryDelaySeconds: 0 })) ?? {};
    assert.deepEqual(changed, { retry_limit: 6 + SPARE_RUNS, expire_seconds: 20, retry_backoff: false });
    assert.notDeepEqual(updated_on, first?.updated_on);
  });

  it('the database keeps the schedules that the program names, and no others', async () => {
    const start = async (cron: string | undefined): Promise<void> => {
      const jobs = createJobs(current().db, { logger: silent });
      jobs.define<Data>('scheduled', async () => undefined);
      if (cron !== undefined) jobs.schedule('scheduled', cron, { n: 1 }, { timezone: 'Europe/Vienna' });
      await jobs.start();
      await jobs.stop();
    };
    const stored = async () =>
      (await current().db.query({ text: 'select name, cron, timezone from jobs.schedule', values: [] })).rows;
    await start('0 3 * * *');
    await start('30 4 * * *');
    assert.deepEqual(await stored(), [{ name: 'scheduled', cron: '30 4 * * *', timezone: 'Europe/Vienna' }]);
    await start(undefined);
    assert.deepEqual(await stored(), []);
  });

  it('a job that a schedule has made due is announced, as its queue is asked rarely', async () => {
    const text = `select notify from jobs.queue where name = '__pgboss__send-it'`;
    const reset = `update jobs.queue set notify = false where name = '__pgboss__send-it'`;
    await current().db.query({ text: reset, values: [] });
    await startQueue(async () => undefined);
    assert.deepEqual((await current().db.query({ text, values: [] })).rows, [{ notify: true }]);
  });

  it('services that share the queue leave the schedules of each other alone', async () => {
    const stored = async () => {
      const text = `select name, cron from jobs.schedule where name like 'of-%' order by name`;
      return (await current().db.query({ text, values: [] })).rows;
    };
    for (const round of ['first', 'again']) {
      for (const [name, cron] of [
        ['of-one', '1 1 * * *'],
        ['of-two', '2 2 * * *'],
      ] as const) {
        const jobs = createJobs(current().db, { logger: silent });
        jobs.define<Data>(name, async () => undefined);
        jobs.schedule(name, cron, { n: 1 });
        await jobs.start();
        started.push(jobs);
      }
      const expected = [
        { name: 'of-one', cron: '1 1 * * *' },
        { name: 'of-two', cron: '2 2 * * *' },
      ];
      assert.deepEqual(await stored(), expected, round);
    }
  });

  it('a process is held by each job from before it runs until it has ended, also by one that fails', async () => {
    const seen: string[] = [];
    let held = 0;
    const holdJob = () => {
      held += 1;
      return () => {
        held -= 1;
      };
    };
    const { jobs, name } = await startQueue(
      async ({ data, attempt }) => {
        seen.push(`${data.n}: ${held}`);
        if (data.n === 2 && attempt === 1) throw new Error('no');
      },
      { concurrency: 1, retryLimit: 1, retryDelaySeconds: 0, holdJob },
    );
    for (const n of [1, 2]) await jobs.enqueue(current().db, name, { n });
    await eventually(() => (seen.length === 3 && held === 0 ? true : undefined), 'both have ended');
    assert.deepEqual(seen.toSorted(), ['1: 1', '2: 1', '2: 1']);
  });

  it('misuse says what to do', async () => {
    const jobs = createJobs(current().db, { logger: silent });
    jobs.define('known', async () => undefined);
    assert.throws(() => jobs.define('known', async () => undefined), /defined twice/);
    assert.throws(() => jobs.schedule('unknown', '* * * * *', {}), /define\(\) it first/);
    await assert.rejects(jobs.enqueue(current().db, 'unknown', {}), /define\(\) it first/);
    await assert.rejects(jobs.enqueue(current().db, 'known', {}), /start\(\)/);
  });
});
