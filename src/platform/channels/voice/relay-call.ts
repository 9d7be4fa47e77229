/**
 * One call, over its connection: each thing that the caller says is a turn of their smith, one after the other. Who speaks into
 * the answer cancels it, and what waits behind it. A call that ends cancels nothing: the answer stays in the smith's history.
 */
import { setTimer, type Timer } from '../../../kernel/clock/timers.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { MessageSocket } from '../../../kernel/http/socket.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { cancelTurn, type Engine, type RunRow } from '../../engine/index.ts';
import { startTurn, type TurnLine, UNCHANGED_SETTINGS } from '../../surfaces/index.ts';
import type { JsonObject } from '../../tables.ts';
import { FAILED_SENTENCE } from '../sentences.ts';
import type { CallTicket } from './call-ticket.ts';
import { type NotedPrompt, notePrompt } from './note-prompt.ts';
import { sayToken, speakAnswer } from './speak-answer.ts';

/** Further ones are not heard. */
const MAX_WAITING = 10;
/** After which keys that were pressed count as all. */
const KEYS_PAUSE_MS = 2_000;
const MAX_KEYS = 100;

export interface RelayDependencies {
  readonly engine: Engine;
  readonly line: TurnLine;
  readonly now: () => Date;
  readonly logger: { warn(fields: object, message: string): void };
}

export class RelayCall {
  readonly #deps: RelayDependencies;
  readonly #projectId: string;
  readonly #call: CallTicket;
  readonly #socket: MessageSocket;
  #stop = new AbortController();
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;
  #keys = '';
  #keysTimer: Timer | undefined;

  constructor(deps: RelayDependencies, projectId: string, call: CallTicket, socket: MessageSocket) {
    this.#deps = deps;
    this.#projectId = projectId;
    this.#call = call;
    this.#socket = socket;
    socket.closed.addEventListener('abort', () => this.#keysTimer?.cancel(), { once: true });
  }

  prompt(text: string, data: JsonObject): void {
    if (this.#waiting >= MAX_WAITING) return;
    this.#waiting += 1;
    const stop = this.#stop.signal;
    this.#last = this.#last
      .then(() => this.#answer(text, data, stop))
      .catch((error: unknown) => this.#fail(error, stop))
      .finally(() => {
        this.#waiting -= 1;
      });
  }

  /** The caller speaks: nothing of what was asked before is answered any more. */
  interrupt(): void {
    this.#stop.abort();
    this.#stop = new AbortController();
  }

  /** Keys go together, until `#` or a pause. */
  press(digit: string): void {
    this.#keysTimer?.cancel();
    if (digit !== '#') this.#keys = (this.#keys + digit).slice(0, MAX_KEYS);
    if (digit === '#') this.#takeKeys();
    else this.#keysTimer = setTimer(() => this.#takeKeys(), KEYS_PAUSE_MS);
  }

  #takeKeys(): void {
    const keys = [...this.#keys].join(' ');
    this.#keys = '';
    if (keys !== '') this.prompt(`[Keys pressed: ${keys}]`, { keys });
  }

  async #answer(text: string, data: JsonObject, stop: AbortSignal): Promise<void> {
    if (this.#isOver(stop)) return;
    const { engine } = this.#deps;
    const id = mintId('ievt');
    const run = await this.#begin(id, text, data, stop);
    if (run === undefined) return;
    const noted = this.#note({ id, data, outcome: { runId: run.id } });
    const place = { projectId: run.project_id, smithId: run.smith_id, runId: run.id };
    const cancel = () => cancelTurn(engine, place).catch((error: unknown) => this.#warn(error, 'a turn goes on'));
    if (stop.aborted) await cancel();
    else {
      // Without waiting for what is being said to end by itself.
      let cancelling: Promise<void> | undefined;
      const onStop = () => {
        cancelling = cancel();
      };
      stop.addEventListener('abort', onStop, { once: true });
      await speakAnswer(engine, this.#socket, run, stop).finally(() => stop.removeEventListener('abort', onStop));
      await cancelling;
    }
    await noted;
  }

  /** Undefined: nobody wants the answer any more. Throws why no turn can begin, which is noted. */
  async #begin(id: string, text: string, data: JsonObject, stop: AbortSignal): Promise<RunRow | undefined> {
    const { engine, line } = this.#deps;
    const { smithId, threadId, deploymentId, callSid } = this.#call;
    const place = { projectId: this.#projectId, smithId };
    try {
      const begun = await line.startInLine(
        place,
        () =>
          startTurn(engine, {
            ...place,
            threadId,
            input: [{ role: 'user', content: text }],
            settings: UNCHANGED_SETTINGS,
            channel: 'voice',
            metadata: { deployment_id: deploymentId, inbound_event_id: id, chat: callSid },
            actor: { kind: 'smith', id: smithId, token_id: '', email: '' },
            reader: null,
          }),
        AbortSignal.any([this.#socket.closed, stop]),
      );
      return begun.segment.run;
    } catch (error) {
      if (this.#isOver(stop)) return undefined;
      const { code, message } =
        error instanceof ApiError ? error : { code: 'internal_error', message: 'No turn began.' };
      await this.#note({ id, data, outcome: { error: { code, message } } });
      throw error;
    }
  }

  #isOver(stop: AbortSignal): boolean {
    return stop.aborted || this.#socket.closed.aborted;
  }

  async #note(prompt: Omit<NotedPrompt, 'now'>): Promise<void> {
    try {
      await notePrompt(this.#deps.engine.db, this.#projectId, this.#call, { ...prompt, now: this.#deps.now() });
    } catch (error) {
      this.#warn(error, 'what a caller has said is not among the inbound events');
    }
  }

  #fail(error: unknown, stop: AbortSignal): void {
    this.#warn(error, 'a caller gets no answer');
    if (!this.#isOver(stop)) sayToken(this.#socket, FAILED_SENTENCE, true);
  }

  #warn(error: unknown, message: string): void {
    const { callSid, deploymentId } = this.#call;
    this.#deps.logger.warn({ err: error, projectId: this.#projectId, deploymentId, callSid }, message);
  }
}
