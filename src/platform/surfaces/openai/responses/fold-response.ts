/**
 * A response out of its segment of the run's timeline: a pure fold. The live stream, its replay, the answer to a create
 * that does not stream and a retrieved response all come out of it, so none of them can differ from another.
 *
 * `sequence_number` counts the events: one for each piece of text that the model gave, as the timeline keeps them, and
 * those of the items around it. So the same event has the same number whoever shows it, and a client that goes on behind
 * the last number it has seen gets every character once. They rise by one, but where the timeline itself leaves numbers
 * out: a replica that died may have shown events that nobody has any more, so what follows a takeover begins beyond them.
 *
 * What the model said in a call that was cut off by a takeover, or in an answer that did not match the demanded format,
 * cannot be taken back from a stream: its item is closed as `incomplete`, and the response's final `output` lacks it. Where
 * a format is demanded the text is held back until it is known to stand, for clients put all text together and parse it.
 */
import type { ErrorCatalogue } from '../../../../kernel/http/errors.ts';
import type { ShownFrame } from '../../../engine/index.ts';
import { platformErrors } from '../../../errors.ts';
import type { JsonObject } from '../../../tables.ts';
import { FILE_SEARCH, findCitations } from '../../../tools/file-search.ts';
import { type Usage, usedSince } from '../../segment.ts';
import { functionCallItemId, messageItemId, reasoningItemId } from '../item-ids.ts';
import { CallItems } from './call-items.ts';
import { ItemLog, type ResponseEvent, type Shown } from './item-log.ts';
import {
  approvalRequestItem,
  functionCallItem,
  type ItemStatus,
  messageItem,
  type OutputItem,
  reasoningItem,
  summaryPart,
  textPart,
} from './response-items.ts';

/** What a segment begins with, besides the frames. */
export interface SegmentStart {
  readonly runId: string;
  /** Number of the last frame before it. */
  readonly after: number;
  /** What the run had used by then. */
  readonly used: Usage;
  /** Outputs of the run's searches before it: an answer may cite what they found. */
  readonly searches: readonly (JsonObject | null)[];
}

export type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';

/** What changes while a response is made. */
export interface ResponseOutcome {
  readonly status: ResponseStatus;
  readonly output: readonly OutputItem[];
  readonly error: ResponseError | null;
  readonly incomplete_details: { readonly reason: string } | null;
  readonly usage: ResponseUsage | null;
}

/** `type`: clients that read errors of requests read these alike, and insist on it. */
export interface ResponseError {
  readonly code: string;
  readonly type: string;
  readonly message: string;
}

export interface ResponseUsage {
  readonly input_tokens: number;
  readonly input_tokens_details: { readonly cached_tokens: number };
  readonly output_tokens: number;
  readonly output_tokens_details: { readonly reasoning_tokens: number };
  readonly total_tokens: number;
}

interface Speaking {
  readonly shown: Shown;
  readonly step: number;
  text: string;
  /** The step is committed: what is said stands. */
  accepted: boolean;
}

/** Text that waits for its step to be accepted. */
interface Held {
  readonly step: number;
  readonly pieces: string[];
}

export interface FoldOptions {
  /** What searches found is shown with them. */
  readonly showResults: boolean;
  /** No text is shown before it is known to stand. */
  readonly holdText: boolean;
  /** The whole response with this outcome. */
  readonly render: (outcome: ResponseOutcome) => JsonObject;
}

/** Thoughts and a text: what a step can have begun between two writes of its timeline. */
const UNSTORED_ITEMS = 2;

const IN_PROGRESS: ResponseOutcome = {
  status: 'in_progress',
  output: [],
  error: null,
  incomplete_details: null,
  usage: null,
};

export class ResponseFold {
  readonly #start: SegmentStart;
  readonly #options: FoldOptions;
  readonly #log = new ItemLog();
  readonly #calls: CallItems;
  /** By step: the attempt that makes it again. */
  readonly #repeated = new Map<number, number>();
  readonly #searched: (JsonObject | null)[];
  #lastSeq: number;
  #message: Speaking | undefined;
  #reasoning: Speaking | undefined;
  #held: Held | undefined;
  #outcome: ResponseOutcome = IN_PROGRESS;

  constructor(start: SegmentStart, options: FoldOptions) {
    this.#start = start;
    this.#options = options;
    this.#calls = new CallItems(this.#log, { runId: start.runId, showResults: options.showResults });
    this.#searched = [...start.searches];
    this.#lastSeq = start.after;
  }

  /** The response as it stands: without output until it has ended. */
  get response(): JsonObject {
    return this.#options.render(this.#outcome);
  }

  get status(): ResponseStatus {
    return this.#outcome.status;
  }

  /** Frames that follow belong to another segment. */
  get ended(): boolean {
    return this.#outcome !== IN_PROGRESS;
  }

  /** Number of the last event. */
  get lastNumber(): number {
    return this.#log.lastNumber;
  }

  /** The events that every response begins with. */
  open(): ResponseEvent[] {
    this.#log.emit('response.created', { response: this.response });
    this.#log.emit('response.in_progress', { response: this.response });
    return this.#log.take();
  }

  /** The events that a frame makes, frames being given in order. Those behind the segment's end make none. */
  fold(frame: ShownFrame): ResponseEvent[] {
    if (this.ended) return [];
    this.#followNumbers(frame);
    this.#endAccepted(frame);
    this.#foldFrame(frame);
    return this.#log.take();
  }

  #foldFrame({ type, data, pieces }: ShownFrame): void {
    switch (type) {
      case 'message.delta':
        for (const piece of pieces ?? [String(data.text)]) this.#hear(Number(data.step), piece);
        return;
      case 'reasoning':
        for (const piece of pieces ?? [String(data.text)]) this.#think(Number(data.step), piece);
        return;
      case 'message.completed':
        this.#accept(Number(data.step), String(data.content ?? ''));
        return;
      case 'tool.executing':
        this.#closeReasoning('completed');
        this.#rejectMessage();
        this.#calls.begin(data);
        return;
      case 'tool.completed':
        if (data.tool === FILE_SEARCH) this.#searched.push((data.output ?? null) as JsonObject | null);
        this.#calls.end(data);
        return;
      case 'mcp.listing':
        this.#calls.beginList(String(data.server_label));
        return;
      case 'mcp.listed':
        this.#calls.endList(data);
        return;
      case 'run.restarted':
        this.#restart(Number(data.attempt), Number(data.step));
        return;
      case 'run.paused':
        this.#pause(data);
        return;
      case 'run.completed':
        this.#complete(data);
        return;
      case 'run.failed':
        this.#fail(data);
        return;
      case 'run.cancelled':
        this.#release();
        this.#closeSpeaking('incomplete');
        this.#end({ status: 'cancelled', usage: this.#usage(data.usage) });
        return;
    }
  }

  /** Leaves out as many numbers as the timeline does. */
  #followNumbers({ seq, pieces }: ShownFrame): void {
    const first = seq - (pieces?.length ?? 1) + 1;
    this.#log.skipNumbers(Math.max(0, first - this.#lastSeq - 1));
    this.#lastSeq = seq;
  }

  /** A message's status is known with the frame behind it: an answer that was cut short is followed by the run's end. */
  #endAccepted({ type, data }: ShownFrame): void {
    if (this.#message?.accepted !== true) return;
    this.#closeMessage(type === 'run.completed' && isCutShort(data.stop_reason) ? 'incomplete' : 'completed');
  }

  #hear(step: number, piece: string): void {
    if (!this.#options.holdText) this.#say(step, piece);
    else if (this.#held?.step === step) this.#held.pieces.push(piece);
    else this.#held = { step, pieces: [piece] };
  }

  /** Shows the text that was held back. */
  #release(): void {
    const held = this.#held;
    this.#held = undefined;
    for (const piece of held?.pieces ?? []) this.#say(held?.step ?? 0, piece);
  }

  #say(step: number, piece: string): void {
    this.#closeReasoning('completed');
    const message = this.#message?.step === step ? this.#message : this.#openMessage(step);
    message.text += piece;
    const { id, index } = message.shown;
    this.#log.emit('response.output_text.delta', {
      item_id: id,
      output_index: index,
      content_index: 0,
      delta: piece,
      logprobs: [],
    });
  }

  #think(step: number, piece: string): void {
    if (this.#message?.step === step) this.#closeMessage('completed');
    else this.#rejectMessage();
    const reasoning = this.#reasoning?.step === step ? this.#reasoning : this.#openReasoning(step);
    reasoning.text += piece;
    const { id, index } = reasoning.shown;
    this.#log.emit('response.reasoning_summary_text.delta', {
      item_id: id,
      output_index: index,
      summary_index: 0,
      delta: piece,
    });
  }

  #openMessage(step: number): Speaking {
    this.#rejectMessage();
    const id = this.#freeId(step, (part) => messageItemId(this.#start.runId, step, part));
    const shown = this.#log.add(messageItem(id, 'in_progress', []), step);
    const at = { item_id: id, output_index: shown.index, content_index: 0 };
    this.#log.emit('response.content_part.added', { ...at, part: textPart('') });
    this.#message = { shown, step, text: '', accepted: false };
    return this.#message;
  }

  #openReasoning(step: number): Speaking {
    this.#closeReasoning('completed');
    const id = this.#freeId(step, (part) => reasoningItemId(this.#start.runId, step, part));
    const shown = this.#log.add(reasoningItem(id, 'in_progress', []), step);
    const at = { item_id: id, output_index: shown.index, summary_index: 0 };
    this.#log.emit('response.reasoning_summary_part.added', { ...at, part: summaryPart('') });
    this.#reasoning = { shown, step, text: '', accepted: false };
    return this.#reasoning;
  }

  /** The id of the step's next part; of a step that is made again, marked with the attempt that does. */
  #freeId(step: number, idOf: (part: number) => string): string {
    const first = idOf(0);
    const isSameKind = (shown: Shown) => shown.step === step && !shown.isVoid && shown.id.startsWith(first);
    const id = idOf(this.#log.shown.filter(isSameKind).length);
    const attempt = this.#repeated.get(step);
    return attempt === undefined ? id : `${id}_r${attempt}`;
  }

  #closeMessage(status: ItemStatus): void {
    const message = this.#message;
    if (message === undefined) return;
    this.#message = undefined;
    const { shown, text } = message;
    const annotations = findCitations(text, this.#searched);
    const at = { item_id: shown.id, output_index: shown.index, content_index: 0 };
    for (const [index, annotation] of annotations.entries()) {
      this.#log.emit('response.output_text.annotation.added', { ...at, annotation_index: index, annotation });
    }
    const part = textPart(text, annotations);
    this.#log.emit('response.output_text.done', { ...at, text, logprobs: [] });
    this.#log.emit('response.content_part.done', { ...at, part });
    this.#log.finish(shown, messageItem(shown.id, status, [part]));
  }

  #closeReasoning(status: ItemStatus): void {
    const reasoning = this.#reasoning;
    if (reasoning === undefined) return;
    this.#reasoning = undefined;
    const { shown, text } = reasoning;
    const at = { item_id: shown.id, output_index: shown.index, summary_index: 0 };
    this.#log.emit('response.reasoning_summary_text.done', { ...at, text });
    this.#log.emit('response.reasoning_summary_part.done', { ...at, part: summaryPart(text) });
    this.#log.finish(shown, reasoningItem(shown.id, status, [summaryPart(text)]));
  }

  #closeSpeaking(status: ItemStatus): void {
    this.#closeReasoning(status);
    this.#closeMessage(status);
  }

  /** Closes a message whose step was never accepted. */
  #rejectMessage(): void {
    const message = this.#message;
    if (message === undefined) return;
    this.#closeMessage('incomplete');
    message.shown.isVoid = true;
  }

  #accept(step: number, content: string): void {
    this.#closeReasoning('completed');
    if (this.#held?.step === step) this.#release();
    if (this.#message?.step !== step) {
      const isShown = this.#log.shown.some(({ item, isVoid, ...shown }) => {
        return item.type === 'message' && shown.step === step && !isVoid;
      });
      if (isShown) return;
      if (content === '') this.#openMessage(step);
      else this.#say(step, content);
    }
    if (this.#message !== undefined) this.#message.accepted = true;
  }

  /** The step is made again: what was streamed of it is void. */
  #restart(attempt: number, step: number): void {
    this.#closeSpeaking('incomplete');
    this.#held = undefined;
    this.#repeated.set(step, attempt);
    // Readers may have been shown the beginnings of items that were never stored.
    this.#log.skipPlaces(UNSTORED_ITEMS);
    for (const shown of this.#log.shown) if (shown.step !== undefined && shown.step >= step) shown.isVoid = true;
  }

  /** What the run waits for is the end of this response: the calls are the client's, the approvals a person's. */
  #pause(data: JsonObject): void {
    this.#closeReasoning('completed');
    this.#rejectMessage();
    for (const call of (data.tool_calls ?? []) as JsonObject[]) {
      if (call.status === 'requires_result') this.#showCall(String(call.id), String(call.name), call.arguments);
      else this.#showApproval(call);
    }
    this.#end({ status: 'completed', usage: this.#usage(data.usage) });
  }

  #showCall(callId: string, name: string, args: unknown): void {
    const id = functionCallItemId(this.#start.runId, callId);
    const text = JSON.stringify(args ?? {});
    const shown = this.#log.add(functionCallItem(id, 'in_progress', { callId, name, arguments: '' }));
    const at = { item_id: id, output_index: shown.index };
    this.#log.emit('response.function_call_arguments.delta', { ...at, delta: text });
    this.#log.emit('response.function_call_arguments.done', { ...at, name, arguments: text });
    this.#log.finish(shown, functionCallItem(id, 'completed', { callId, name, arguments: text }));
  }

  #showApproval(call: JsonObject): void {
    const item = approvalRequestItem(call);
    this.#log.finish(this.#log.add(item), item);
  }

  #complete(data: JsonObject): void {
    this.#closeReasoning('completed');
    this.#rejectMessage();
    const usage = this.#usage(data.usage);
    const reason = data.stop_reason === 'length' ? 'max_output_tokens' : 'content_filter';
    if (isCutShort(data.stop_reason)) this.#end({ status: 'incomplete', usage, incomplete_details: { reason } });
    else this.#end({ status: 'completed', usage });
  }

  #fail(data: JsonObject): void {
    this.#release();
    this.#closeSpeaking('incomplete');
    const { code, message } = (data.error ?? {}) as JsonObject;
    this.#end({
      status: 'failed',
      error: describeError(String(code ?? 'run_failed'), String(message ?? 'The turn failed.')),
    });
  }

  #end(outcome: Partial<ResponseOutcome> & { readonly status: ResponseStatus }): void {
    this.#calls.closeOpen();
    this.#outcome = { ...IN_PROGRESS, output: this.#log.output, ...outcome };
    // The dialect has no event for a cancelled response: it is one that stopped early.
    const type = outcome.status === 'cancelled' ? 'incomplete' : outcome.status;
    this.#log.emit(`response.${type}`, { response: this.response });
  }

  /** Frames count the whole run; a response counts its segment. */
  #usage(counted: unknown): ResponseUsage | null {
    if (counted === null || counted === undefined) return null;
    const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = usedSince(this.#start.used, counted);
    return {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: cachedInputTokens },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: reasoningTokens },
      total_tokens: inputTokens + outputTokens,
    };
  }
}

function describeError(code: string, message: string): ResponseError {
  return { code, type: (platformErrors as ErrorCatalogue)[code]?.type ?? 'api_error', message };
}

function isCutShort(stopReason: unknown): boolean {
  return stopReason === 'length' || stopReason === 'content_filter';
}
