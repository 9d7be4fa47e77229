/** The items and events of a response as its stream has them: which there are, in which order, under which numbers. */
import type { JsonObject } from '../../../tables.ts';
import type { OutputItem } from './response-items.ts';

export interface ResponseEvent extends JsonObject {
  readonly type: string;
  readonly sequence_number: number;
}

/** An item as the stream has it. */
export interface Shown {
  readonly index: number;
  readonly id: string;
  /** The model call that it came of; undefined for what a committed step did. */
  readonly step: number | undefined;
  item: OutputItem;
  /** Closed in the stream, and no part of the response. */
  isVoid: boolean;
}

export class ItemLog {
  readonly #shown: Shown[] = [];
  #events: ResponseEvent[] = [];
  #nextNumber = 0;
  #nextIndex = 0;

  /** Number of the last event. */
  get lastNumber(): number {
    return this.#nextNumber - 1;
  }

  get shown(): readonly Shown[] {
    return this.#shown;
  }

  /** What the response has of them. */
  get output(): OutputItem[] {
    return this.#shown.filter(({ isVoid }) => !isVoid).map(({ item }) => item);
  }

  emit(type: string, members: JsonObject): void {
    this.#events.push({ type, sequence_number: this.#nextNumber++, ...members });
  }

  /** The events since the last time. */
  take(): ResponseEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  add(item: OutputItem, step?: number): Shown {
    const shown: Shown = { index: this.#nextIndex++, id: item.id, step, item, isVoid: false };
    this.#shown.push(shown);
    this.emit('response.output_item.added', { output_index: shown.index, item });
    return shown;
  }

  finish(shown: Shown, item: OutputItem): void {
    shown.item = item;
    this.emit('response.output_item.done', { output_index: shown.index, item });
  }

  /** These numbers and places were given to what nobody has any more. */
  skipNumbers(count: number): void {
    this.#nextNumber += count;
  }

  skipPlaces(count: number): void {
    this.#nextIndex += count;
  }
}
