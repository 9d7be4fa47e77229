/** Streamed runs: when the first bytes come, and how punctual the following ones are. */
import { summarize } from '../statistics.ts';
import { Connection, prepareRequest } from './connection.ts';
import { FailureLog } from './failure-log.ts';
import { countWords, FrameReader } from './frames.ts';
import type { FirstByteJob, Measurement, StreamsJob } from './jobs.ts';
import { measureLag } from './measure-lag.ts';

export async function runFirstByte(job: FirstByteJob): Promise<Measurement> {
  const { host, port, request, deltaEvent } = job;
  const failures = new FailureLog();
  const connection = new Connection(host, port);
  const nextBytes = prepareRequest(request, host, port);
  const isDelta = frameTest(deltaEvent);
  const times = { first_frame: [] as number[], first_delta: [] as number[], end: [] as number[] };
  const startedAt = performance.now();
  for (let round = -job.warmUpRounds; round < job.rounds; round++) {
    // A server may close the connection after a stream: opening it again is not part of the figure.
    await connection.open();
    let firstFrame = 0;
    let firstDelta = 0;
    const reader = new FrameReader((frame) => {
      if (firstFrame === 0) firstFrame = performance.now();
      if (firstDelta === 0 && isDelta(frame)) firstDelta = performance.now();
    });
    const bytes = nextBytes();
    const sentAt = performance.now();
    const status = await connection.send(bytes, (piece) => reader.feed(piece));
    if (firstDelta === 0) failures.add(`${request.path} answered ${status} without a frame named ${deltaEvent}`);
    else if (round >= 0) {
      times.first_frame.push(firstFrame - sentAt);
      times.first_delta.push(firstDelta - sentAt);
      times.end.push(performance.now() - sentAt);
    }
  }
  connection.close();
  failures.refuseTotalLoss(times.end.length > 0);
  return {
    summaries: Object.fromEntries(Object.entries(times).map(([name, durations]) => [name, summarize(durations)])),
    completed: times.end.length,
    failed: failures.count,
    failures: failures.examples,
    seconds: (performance.now() - startedAt) / 1000,
    figures: {},
  };
}

export async function runStreams(job: StreamsJob): Promise<Measurement> {
  const failures = new FailureLog();
  const streams = job.requests.map(() => new PacedStream(job));
  const startedAt = performance.now();
  const running = streams.map(async (stream, index) => {
    await delayUntil(startedAt + index * job.startEveryMs);
    const request = job.requests[index];
    if (request === undefined) return;
    const failure = await stream.run(prepareRequest(request, job.host, job.port)(), request.path);
    if (failure !== undefined) failures.add(failure);
  });
  await Promise.all(running);
  const whole = streams.filter((stream) => stream.isWhole);
  failures.refuseTotalLoss(whole.length > 0);
  return { ...measureStreams(whole, job), failed: failures.count, failures: failures.examples };
}

function measureStreams(streams: readonly PacedStream[], job: StreamsJob): Omit<Measurement, 'failed' | 'failures'> {
  const arrivals = streams.map((stream) => stream.arrivals);
  const { lags, lagsAllOpen, openMs } = measureLag(arrivals, 1000 / job.wordsPerSecond);
  const deltaFrames = streams.reduce((sum, stream) => sum + stream.deltaFrames, 0);
  return {
    summaries: {
      lag: summarize(lags),
      ...(lagsAllOpen.length > 0 && { lag_all_open: summarize(lagsAllOpen) }),
      first_frame: summarize(streams.map((stream) => stream.firstFrameAt - stream.sentAt)),
      first_word: summarize(streams.map((stream) => (stream.arrivals[0] ?? 0) - stream.sentAt)),
    },
    completed: streams.length,
    seconds: openMs / 1000,
    figures: { words: lags.length, words_per_frame: lags.length / deltaFrames },
  };
}

/** One stream, and when each of its words came. */
class PacedStream {
  readonly arrivals: Float64Array;
  sentAt = 0;
  firstFrameAt = 0;
  deltaFrames = 0;
  readonly #job: StreamsJob;
  readonly #isDelta: (frame: string) => boolean;
  #words = 0;
  #pieceAt = 0;

  constructor(job: StreamsJob) {
    this.#job = job;
    this.#isDelta = frameTest(job.deltaEvent);
    this.arrivals = new Float64Array(job.wordsPerStream);
  }

  get isWhole(): boolean {
    return this.#words === this.arrivals.length;
  }

  /** Resolves with what was wrong, if anything. */
  async run(request: Buffer, path: string): Promise<string | undefined> {
    const connection = new Connection(this.#job.host, this.#job.port);
    const reader = new FrameReader((frame) => this.#onFrame(frame));
    try {
      await connection.open();
      this.sentAt = performance.now();
      const status = await connection.send(request, (piece) => {
        this.#pieceAt = performance.now();
        reader.feed(piece);
      });
      return this.isWhole
        ? undefined
        : `${path} answered ${status} and ${this.#words} of ${this.arrivals.length} words`;
    } catch (error) {
      return `${path}: ${error instanceof Error ? error.message : String(error)} after ${this.#words} words`;
    } finally {
      connection.close();
    }
  }

  #onFrame(frame: string): void {
    if (this.firstFrameAt === 0) this.firstFrameAt = this.#pieceAt;
    if (!this.#isDelta(frame)) return;
    this.deltaFrames += 1;
    // Words that share a frame all came when it came.
    const words = this.#words + countWords(readDeltaText(frame));
    this.arrivals.fill(this.#pieceAt, this.#words, words);
    this.#words = words;
  }
}

function frameTest(event: string): (frame: string) => boolean {
  const line = `event: ${event}\n`;
  return (frame) => frame.includes(line);
}

function readDeltaText(frame: string): string {
  const at = frame.indexOf('\ndata: ');
  const value: unknown = JSON.parse(frame.slice(at + '\ndata: '.length));
  const data = isObject(value) ? value.data : undefined;
  const text = isObject(data) ? data.text : undefined;
  if (typeof text !== 'string') throw new Error(`a delta without data.text: ${frame.slice(0, 300)}`);
  return text;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

async function delayUntil(atMs: number): Promise<void> {
  const waitMs = atMs - performance.now();
  if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
}
