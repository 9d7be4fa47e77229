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
import {
  fileSearchItemId,
  functionCallItemId,
  mcpCallItemId,
  mcpListItemId,
  messageItemId,
  reasoningItemId,
} from '../item-ids.ts';
import {
  approvalRequestItem,
  type CalledServer,
  fileSearchItem,
  functionCallItem,
  type ItemStatus,
  mcpCallItem,
  mcpListItem,
  mcpResult,
  messageItem,
  type OutputItem,
  passagesOf,
  readServer,
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

export interface ResponseEvent extends JsonObject {
  readonly type: string;
  readonly sequence_number: number;
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

/** An item as the stream has it. */
interface Shown {
  readonly index: number;
  readonly id: string;
  /** The model call that it came of; undefined for what a committed step did. */
  readonly step: number | undefined;
  item: OutputItem;
  /** Closed in the stream, and no part of the response. */
  isVoid: boolean;
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

interface Search {
  readonly shown: Shown;
  readonly query: unknown;
  isOpen: boolean;
}

/** A call of an MCP server's tool. */
interface RemoteCall {
  readonly shown: Shown;
  readonly server: CalledServer;
  readonly args: string;
  isOpen: boolean;
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
  readonly #shown: Shown[] = [];
  /** By step: the attempt that makes it again. */
  readonly #repeated = new Map<number, number>();
  readonly #searches = new Map<string, Search>();
  readonly #remoteCalls = new Map<string, RemoteCall>();
  /** Of MCP servers that are asked for their tools, by label. */
  readonly #lists = new Map<string, { readonly shown: Shown; isOpen: boolean }>();
  readonly #searched: (JsonObject | null)[];
  #events: ResponseEvent[] = [];
  #nextNumber = 0;
  #lastSeq: number;
  #nextIndex = 0;
  #message: Speaking | undefined;
  #reasoning: Speaking | undefined;
  #held: Held | undefined;
  #outcome: ResponseOutcome = IN_PROGRESS;

  constructor(start: SegmentStart, options: FoldOptions) {
    this.#start = start;
    this.#options = options;
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
    return this.#nextNumber - 1;
  }

  /** The events that every response begins with. */
  open(): ResponseEvent[] {
    this.#emit('response.created', { response: this.response });
    this.#emit('response.in_progress', { response: this.response });
    return this.#take();
  }

  /** The events that a frame makes, frames being given in order. Those behind the segment's end make none. */
  fold(frame: ShownFrame): ResponseEvent[] {
    if (this.ended) return [];
    this.#followNumbers(frame);
    this.#endAccepted(frame);
    this.#foldFrame(frame);
    return this.#take();
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
        this.#beginSearch(data);
        this.#beginRemoteCall(data);
        return;
      case 'tool.completed':
        this.#endSearch(data);
        this.#endRemoteCall(data);
        return;
      case 'mcp.listing':
        this.#beginList(String(data.server_label));
        return;
      case 'mcp.listed':
        this.#endList(data);
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

  #emit(type: string, members: JsonObject): void {
    this.#events.push({ type, sequence_number: this.#nextNumber++, ...members });
  }

  #take(): ResponseEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** Leaves out as many numbers as the timeline does. */
  #followNumbers({ seq, pieces }: ShownFrame): void {
    const first = seq - (pieces?.length ?? 1) + 1;
    this.#nextNumber += Math.max(0, first - this.#lastSeq - 1);
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
    this.#emit('response.output_text.delta', {
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
    this.#emit('response.reasoning_summary_text.delta', {
      item_id: id,
      output_index: index,
      summary_index: 0,
      delta: piece,
    });
  }

  #openMessage(step: number): Speaking {
    this.#rejectMessage();
    const id = this.#freeId(step, (part) => messageItemId(this.#start.runId, step, part));
    const shown = this.#add(messageItem(id, 'in_progress', []), step);
    const at = { item_id: id, output_index: shown.index, content_index: 0 };
    this.#emit('response.content_part.added', { ...at, part: textPart('') });
    this.#message = { shown, step, text: '', accepted: false };
    return this.#message;
  }

  #openReasoning(step: number): Speaking {
    this.#closeReasoning('completed');
    const id = this.#freeId(step, (part) => reasoningItemId(this.#start.runId, step, part));
    const shown = this.#add(reasoningItem(id, 'in_progress', []), step);
    const at = { item_id: id, output_index: shown.index, summary_index: 0 };
    this.#emit('response.reasoning_summary_part.added', { ...at, part: summaryPart('') });
    this.#reasoning = { shown, step, text: '', accepted: false };
    return this.#reasoning;
  }

  /** The id of the step's next part; of a step that is made again, marked with the attempt that does. */
  #freeId(step: number, idOf: (part: number) => string): string {
    const first = idOf(0);
    const isSameKind = (shown: Shown) => shown.step === step && !shown.isVoid && shown.id.startsWith(first);
    const id = idOf(this.#shown.filter(isSameKind).length);
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
      this.#emit('response.output_text.annotation.added', { ...at, annotation_index: index, annotation });
    }
    const part = textPart(text, annotations);
    this.#emit('response.output_text.done', { ...at, text, logprobs: [] });
    this.#emit('response.content_part.done', { ...at, part });
    this.#finish(shown, messageItem(shown.id, status, [part]));
  }

  #closeReasoning(status: ItemStatus): void {
    const reasoning = this.#reasoning;
    if (reasoning === undefined) return;
    this.#reasoning = undefined;
    const { shown, text } = reasoning;
    const at = { item_id: shown.id, output_index: shown.index, summary_index: 0 };
    this.#emit('response.reasoning_summary_text.done', { ...at, text });
    this.#emit('response.reasoning_summary_part.done', { ...at, part: summaryPart(text) });
    this.#finish(shown, reasoningItem(shown.id, status, [summaryPart(text)]));
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
      const isShown = this.#shown.some(({ item, isVoid, ...shown }) => {
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
    this.#nextIndex += UNSTORED_ITEMS;
    for (const shown of this.#shown) if (shown.step !== undefined && shown.step >= step) shown.isVoid = true;
  }

  #beginSearch({ tool, tool_call_id: callId, args }: JsonObject): void {
    // But for tools of MCP servers, the others are this server's own affair: a client that saw their calls would make them.
    if (tool !== FILE_SEARCH || typeof callId !== 'string' || this.#searches.has(callId)) return;
    const query = (args as JsonObject | undefined)?.query;
    const shown = this.#add(
      fileSearchItem(fileSearchItemId(this.#start.runId, callId), 'in_progress', query, null),
      undefined,
    );
    this.#searches.set(callId, { shown, query, isOpen: true });
    const at = { item_id: shown.id, output_index: shown.index };
    this.#emit('response.file_search_call.in_progress', at);
    this.#emit('response.file_search_call.searching', at);
  }

  #endSearch({ tool, tool_call_id: callId, output }: JsonObject): void {
    if (tool !== FILE_SEARCH) return;
    this.#searched.push((output ?? null) as JsonObject | null);
    const search = this.#searches.get(String(callId));
    if (search?.isOpen !== true) return;
    const { shown } = search;
    search.isOpen = false;
    const hasFailed = (output as JsonObject | null)?.error !== undefined;
    if (!hasFailed) {
      this.#emit('response.file_search_call.completed', { item_id: shown.id, output_index: shown.index });
    }
    const results = this.#options.showResults && !hasFailed ? passagesOf(output) : null;
    this.#finish(shown, fileSearchItem(shown.id, hasFailed ? 'failed' : 'completed', search.query, results));
  }

  #beginRemoteCall(data: JsonObject): void {
    const server = readServer(data);
    const callId = String(data.tool_call_id);
    if (server === undefined || this.#remoteCalls.has(callId)) return;
    const id = mcpCallItemId(this.#start.runId, callId);
    const args = JSON.stringify(data.args ?? {});
    const shown = this.#add(mcpCallItem(id, 'in_progress', server, '', undefined), undefined);
    this.#remoteCalls.set(callId, { shown, server, args, isOpen: true });
    const at = { item_id: id, output_index: shown.index };
    this.#emit('response.mcp_call.in_progress', at);
    this.#emit('response.mcp_call_arguments.delta', { ...at, delta: args });
    this.#emit('response.mcp_call_arguments.done', { ...at, arguments: args });
  }

  #endRemoteCall({ tool_call_id: callId, output }: JsonObject): void {
    const call = this.#remoteCalls.get(String(callId));
    if (call?.isOpen !== true) return;
    call.isOpen = false;
    const { shown, server, args } = call;
    const result = mcpResult(output);
    const status = 'error' in result ? 'failed' : 'completed';
    this.#emit(`response.mcp_call.${status}`, { item_id: shown.id, output_index: shown.index });
    this.#finish(shown, mcpCallItem(shown.id, status, server, args, result));
  }

  #beginList(label: string): void {
    if (this.#lists.has(label)) return;
    const id = mcpListItemId(this.#start.runId, label);
    const shown = this.#add(mcpListItem(id, 'in_progress', label, []), undefined);
    this.#lists.set(label, { shown, isOpen: true });
    this.#emit('response.mcp_list_tools.in_progress', { item_id: id, output_index: shown.index });
  }

  #endList({ server_label, tools, error }: JsonObject): void {
    const label = String(server_label);
    const list = this.#lists.get(label);
    if (list?.isOpen !== true) return;
    list.isOpen = false;
    const { shown } = list;
    const status = error === undefined ? 'completed' : 'failed';
    this.#emit(`response.mcp_list_tools.${status}`, { item_id: shown.id, output_index: shown.index });
    const why = error === undefined ? undefined : String(error);
    this.#finish(shown, mcpListItem(shown.id, status, label, (tools ?? []) as JsonObject[], why));
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
    const shown = this.#add(functionCallItem(id, 'in_progress', { callId, name, arguments: '' }), undefined);
    const at = { item_id: id, output_index: shown.index };
    this.#emit('response.function_call_arguments.delta', { ...at, delta: text });
    this.#emit('response.function_call_arguments.done', { ...at, name, arguments: text });
    this.#finish(shown, functionCallItem(id, 'completed', { callId, name, arguments: text }));
  }

  #showApproval(call: JsonObject): void {
    const item = approvalRequestItem(call);
    this.#finish(this.#add(item, undefined), item);
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
    for (const { shown, query, isOpen } of this.#searches.values()) {
      if (isOpen) this.#finish(shown, fileSearchItem(shown.id, 'incomplete', query, null));
    }
    for (const { shown, server, args, isOpen } of this.#remoteCalls.values()) {
      if (isOpen) this.#finish(shown, mcpCallItem(shown.id, 'incomplete', server, args, undefined));
    }
    for (const [label, { shown, isOpen }] of this.#lists) {
      if (isOpen) this.#finish(shown, mcpListItem(shown.id, 'incomplete', label, []));
    }
    const output = this.#shown.filter(({ isVoid }) => !isVoid).map(({ item }) => item);
    this.#outcome = { ...IN_PROGRESS, output, ...outcome };
    // The dialect has no event for a cancelled response: it is one that stopped early.
    const type = outcome.status === 'cancelled' ? 'incomplete' : outcome.status;
    this.#emit(`response.${type}`, { response: this.response });
  }

  #add(item: OutputItem, step: number | undefined): Shown {
    const shown: Shown = { index: this.#nextIndex++, id: item.id, step, item, isVoid: false };
    this.#shown.push(shown);
    this.#emit('response.output_item.added', { output_index: shown.index, item });
    return shown;
  }

  #finish(shown: Shown, item: OutputItem): void {
    shown.item = item;
    this.#emit('response.output_item.done', { output_index: shown.index, item });
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
