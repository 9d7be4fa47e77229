/**
 * Commands to a registry over a few connections that are kept open: one command at a time on each, the others wait in one
 * bounded queue, in the order of their turns. A connection that ends is opened again, at growing intervals.
 *
 *   a command that was not sent            waits for the next connection
 *   one beyond what the registry takes     waits for its turn, which all processes share
 *   one whose answer was lost, repeatable  is sent again
 *   one whose answer was lost, otherwise   ends as `AnswerLost`: the caller has to find its outcome
 *
 * A registry that ends the session because it has had too many commands or sessions (2502) is left alone for a while, which grows with
 * each time that it says so.
 */
import { type Clock, systemClock } from '../../../../kernel/clock/clock.ts';
import { elapsedMs, setTimer, sleep } from '../../../../kernel/clock/timers.ts';
import type { Logger } from '../../../../kernel/log/log.ts';
import { backoffMs } from '../../../../kernel/retry/backoff.ts';
import type { CommandAllowance } from '../../turns/command-allowance.ts';
import { currentTurn } from '../../turns/command-turn.ts';
import type { EppCommand } from '../commands/command.ts';
import type { Response } from '../commands/response.ts';
import { type AgreedServices, EppConnection, type EppEndpoint } from './connection.ts';
import { AnswerLost, CommandNotSent, TurnNotCome } from './errors.ts';
import { type Job, JobQueue } from './job-queue.ts';

export interface EppClientOptions extends EppEndpoint {
  readonly logger: Logger;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Registries allow few. Default 1. */
  readonly connections?: number;
  /** Commands that may wait; further ones are `CommandNotSent` at once. Default 100. */
  readonly maxQueued?: number;
  /** How long a command waits to be sent. Default 20,000. */
  readonly queueTimeoutMs?: number;
  /** A connection without commands says hello this often. Default 240,000. */
  readonly keepAliveMs?: number;
  /** Before the first new try to connect, doubled with each. Default 250. */
  readonly reconnectDelayMs?: number;
  /** How long `stop` waits for answers. Default 5,000. */
  readonly stopGraceMs?: number;
  /** The longest wait. Default 30,000. */
  readonly reconnectDelayMaxMs?: number;
  /** Before the first new try where the registry has had too many commands (2502), doubled with each. Default 1,000. */
  readonly limitDelayMs?: number;
  /** What the registry takes of all processes together. Default: anything. */
  readonly allowance?: CommandAllowance | undefined;
  /** The longest wait between two looks whether there is a turn. Default 500. */
  readonly turnLookMs?: number;
}

export interface CommandOptions {
  readonly clTRID: string;
  readonly isRepeatable: boolean;
  /** For commands that are repeatable: give up after so long, even when the answer may still come. */
  readonly timeoutMs?: number;
}

const MAX_TRIES = 3;
const QUEUE_TIMEOUT_MS = 20_000;
const NOT_WANTED = 'nobody waits for it any more';
const UNAWAITED = 'and none is waited for until there is one again';

export class EppClient {
  readonly #options: EppClientOptions;
  readonly #queue = new JobQueue();
  readonly #stopping = new AbortController();
  readonly #connections = new Set<EppConnection>();
  #sessions: Promise<void>[] = [];
  readonly #services = Promise.withResolvers<AgreedServices>();
  #lastFailure: unknown;
  /** By the process's clock; undefined while there is a session, or none was tried yet. */
  #awaySince: number | undefined;

  constructor(options: EppClientOptions) {
    this.#options = options;
  }

  /** Those that are logged in now. */
  get sessionCount(): number {
    return this.#connections.size;
  }

  /** What the first login agreed on. Throws `CommandNotSent` when there is none in time. */
  async services(timeoutMs: number = this.#options.queueTimeoutMs ?? QUEUE_TIMEOUT_MS): Promise<AgreedServices> {
    if (this.#hasGivenUp()) throw this.#notSent(`no connection within ${timeoutMs} ms, ${UNAWAITED}`);
    const done = new AbortController();
    const tooLate = sleep(timeoutMs, AbortSignal.any([done.signal, this.#stopping.signal]));
    try {
      return await Promise.race([this.#services.promise, tooLate.then(() => this.#failLate(timeoutMs))]);
    } catch (error) {
      throw error instanceof CommandNotSent ? error : this.#notSent('the client has stopped');
    } finally {
      done.abort();
      tooLate.catch(() => undefined);
    }
  }

  /** Connects in the background, and reconnects until `stop`. */
  start(): void {
    if (this.#sessions.length > 0) return;
    const { connections = 1 } = this.#options;
    this.#sessions = Array.from({ length: connections }, () => this.#runSession());
  }

  /** Waits for the commands in flight and logs out, for as long as the grace; those that wait are `CommandNotSent`. */
  async stop(): Promise<void> {
    const { stopGraceMs = 5_000 } = this.#options;
    this.#stopping.abort();
    for (const job of this.#queue.drain()) job.settle(new CommandNotSent('the client is stopping'));
    const timer = setTimer(
      () => {
        for (const connection of this.#connections) connection.cut(new Error('the client is stopping'));
      },
      stopGraceMs,
      { keepsProcess: true },
    );
    await Promise.all(this.#sessions);
    timer.cancel();
  }

  /** Throws `CommandNotSent` or `AnswerLost`. An answer is an answer, whatever its code. */
  execute(command: EppCommand, options: CommandOptions): Promise<Response> {
    const { clock = systemClock, maxQueued = 100, queueTimeoutMs = QUEUE_TIMEOUT_MS } = this.#options;
    const { rank, signal } = currentTurn(clock.now());
    if (this.#stopping.signal.aborted) return Promise.reject(new CommandNotSent('the client has stopped'));
    if (this.#hasGivenUp())
      return Promise.reject(this.#notSent(`no connection within ${queueTimeoutMs} ms, ${UNAWAITED}`));
    if (this.#queue.length >= maxQueued) return Promise.reject(new TurnNotCome(`${maxQueued} commands wait already`));
    if (signal?.aborted === true) return Promise.reject(new TurnNotCome(NOT_WANTED));
    return new Promise((resolve, reject) => {
      const job: Job = {
        command,
        clTRID: options.clTRID,
        isRepeatable: options.isRepeatable,
        rank,
        tries: 0,
        isInFlight: false,
        isLate: false,
        isSettled: false,
        settle: (result) => {
          if (job.isSettled) return;
          job.isSettled = true;
          this.#queue.remove(job);
          queueTimer.cancel();
          answerTimer?.cancel();
          signal?.removeEventListener('abort', giveUp);
          if (result instanceof Error) reject(result);
          else resolve(result);
        },
      };
      const queueTimer = setTimer(
        () => {
          job.isLate = true;
          if (!job.isInFlight) job.settle(this.#notInTime(queueTimeoutMs));
        },
        queueTimeoutMs,
        { keepsProcess: true },
      );
      const giveUp = () => {
        job.isLate = true;
        if (!job.isInFlight) job.settle(new TurnNotCome(NOT_WANTED));
      };
      signal?.addEventListener('abort', giveUp);
      const { timeoutMs } = options;
      const answerTimer =
        timeoutMs === undefined
          ? undefined
          : setTimer(
              () =>
                job.settle(
                  job.tries === 0 ? this.#notInTime(timeoutMs) : this.#notSent(`no answer within ${timeoutMs} ms`),
                ),
              timeoutMs,
              { keepsProcess: true },
            );
      this.#queue.add(job);
    });
  }

  /** Away for as long as a command waits: further ones would wait for nothing, and keep others' work waiting with them. */
  #hasGivenUp(): boolean {
    const { queueTimeoutMs = QUEUE_TIMEOUT_MS } = this.#options;
    return this.#awaySince !== undefined && elapsedMs() - this.#awaySince > queueTimeoutMs;
  }

  /** Where there are sessions, others were served first. */
  #notInTime(timeoutMs: number): CommandNotSent {
    return this.#options.allowance !== undefined && this.#connections.size > 0
      ? new TurnNotCome(`the registry takes so many commands, and its turn did not come within ${timeoutMs} ms`)
      : this.#notSent(`no connection within ${timeoutMs} ms`);
  }

  #failLate(timeoutMs: number): never {
    throw this.#notSent(`no connection within ${timeoutMs} ms`);
  }

  #notSent(message: string): CommandNotSent {
    return new CommandNotSent(message, this.#lastFailure);
  }

  async #runSession(): Promise<void> {
    const { logger, host } = this.#options;
    const stopping = this.#stopping.signal;
    let failures = 0;
    let limits = 0;
    while (!stopping.aborted) {
      try {
        const connection = await EppConnection.open(this.#options, stopping);
        this.#awaySince = undefined;
        this.#services.resolve(connection.services);
        logger.info({ host, extensions: [...connection.services.extensionUris] }, 'logged in to the registry');
        for (const event of connection.loginEvents) logger.warn({ host, event }, 'the registry said at login');
        // A login alone does not reset the backoff, only an answer: a server may accept logins and hang up.
        const served = await this.#serveFrom(connection);
        if (served.isAnswered) [failures, limits] = [0, 0];
        if (served.isLimited) {
          limits += 1;
          logger.warn(
            { host, limits },
            'the registry has had too many commands or sessions, and is left alone for a while',
          );
        }
        if (!stopping.aborted) logger.info({ host, reason: connection.closed.reason }, 'the registry’s session ended');
      } catch (error) {
        this.#lastFailure = error;
        logger.warn({ err: error, host, failures }, 'no session with the registry');
      }
      failures += 1;
      if (this.#connections.size === 0) this.#awaySince ??= elapsedMs();
      await sleep(limits > 0 ? this.#limitDelayMs(limits) : this.#delayMs(failures), stopping).catch(() => undefined);
    }
  }

  #delayMs(failures: number): number {
    const { reconnectDelayMs: firstMs = 250, reconnectDelayMaxMs: longestMs = 30_000 } = this.#options;
    return backoffMs(failures, { firstMs, longestMs, jitter: 'full' });
  }

  #limitDelayMs(limits: number): number {
    const { limitDelayMs: firstMs = 1_000, reconnectDelayMaxMs: longestMs = 30_000 } = this.#options;
    return backoffMs(limits, { firstMs, longestMs: Math.max(longestMs, firstMs) });
  }

  /** Until the connection is over, or the client stops. `isAnswered`: any command was; `isLimited`: 2502 has ended it. */
  async #serveFrom(connection: EppConnection): Promise<{ readonly isAnswered: boolean; readonly isLimited: boolean }> {
    const { keepAliveMs = 240_000 } = this.#options;
    const stopping = this.#stopping.signal;
    const ends = AbortSignal.any([stopping, connection.closed]);
    let [isAnswered, isLimited] = [false, false];
    this.#connections.add(connection);
    while (!ends.aborted) {
      const job = await this.#takeJob(ends, keepAliveMs);
      if (job !== undefined) {
        const end = await this.#exchange(job, connection);
        isAnswered ||= end === 'answered';
        isLimited ||= end === 'limited';
      } else if (!ends.aborted) await connection.hello();
    }
    await connection.close();
    this.#connections.delete(connection);
    return { isAnswered, isLimited };
  }

  /** The next job whose turn it is; undefined when the signal is aborted or the time is up first. */
  async #takeJob(signal: AbortSignal, timeoutMs: number): Promise<Job | undefined> {
    const { allowance, turnLookMs = 500 } = this.#options;
    const endMs = elapsedMs() + timeoutMs;
    for (let leftMs = timeoutMs; leftMs > 0 && !signal.aborted; leftMs = endMs - elapsedMs()) {
      await this.#queue.wait(signal, leftMs);
      if (signal.aborted) break;
      const { first } = this.#queue;
      if (first === undefined) continue;
      const againMs = await this.#askTurn(allowance, first.rank);
      // A better one may have come meanwhile.
      if (againMs === undefined) {
        const job = this.#queue.shift();
        if (job !== undefined) return job;
      } else await sleep(Math.min(againMs, turnLookMs), signal).catch(() => undefined);
    }
    this.#queue.passOn();
    return undefined;
  }

  async #askTurn(allowance: CommandAllowance | undefined, rank: number): Promise<number | undefined> {
    try {
      return await allowance?.take(rank);
    } catch (error) {
      const { logger, host } = this.#options;
      logger.error({ err: error, host }, 'whether the registry takes a command now is not known; it is asked again');
      return Number.POSITIVE_INFINITY;
    }
  }

  async #exchange(job: Job, connection: EppConnection): Promise<'answered' | 'limited' | 'failed'> {
    job.tries += 1;
    job.isInFlight = true;
    try {
      const response = await connection.exchange(job.command, job.clTRID);
      if (!isUnanswered(response.code, job)) {
        job.settle(response);
        return 'answered';
      }
      if (response.code !== 2502) this.#retry(job, this.#notSent(`${response.code}: ${response.message}`));
      else {
        this.#retry(job, new TurnNotCome(`${response.code}: ${response.message}`));
        return 'limited';
      }
    } catch (error) {
      if (error instanceof CommandNotSent || (error instanceof AnswerLost && job.isRepeatable)) this.#retry(job, error);
      else job.settle(error instanceof Error ? error : new CommandNotSent(String(error)));
    }
    return 'failed';
  }

  #retry(job: Job, error: Error): void {
    job.isInFlight = false;
    if (job.isSettled) return;
    if (job.tries >= MAX_TRIES || job.isLate || this.#stopping.signal.aborted) job.settle(error);
    else this.#queue.putBack(job);
  }
}

/** 2501, 2502: the session is over and nothing was done (RFC 5730 3). 2500: it is over, and what may be sent twice is. */
function isUnanswered(code: number, { isRepeatable }: Job): boolean {
  return code === 2501 || code === 2502 || (code === 2500 && isRepeatable);
}
