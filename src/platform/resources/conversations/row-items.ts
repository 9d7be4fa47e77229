/**
 * The items of a message. One of a user or a system is one item; an assistant's holds what it thought, what it said and
 * each of its calls; a tool's holds results. None is stored: ids follow from the run (openai/item-ids.ts), or, where a
 * message was added without one, from the conversation and its place in it:
 *
 *   msg_<conversation>_<turn>_<position>     and alike with rs_, fc_ and fco_
 */

import { withPrefix } from '../../../kernel/ids/ids.ts';
import {
  fileSearchItemId,
  functionCallItemId,
  functionCallOutputItemId,
  inputItemId,
  messageItemId,
  reasoningItemId,
} from '../../surfaces/openai/index.ts';
import type { MessageRow } from '../../threads/index.ts';
import { FILE_SEARCH } from '../../tools/file-search.ts';
import { type LeftPart, type MessagePart, partsOf, type RunFacts } from './message-row.ts';
import { renderCall, renderMessage, renderReasoning, renderResult, renderSearch } from './render-item.ts';
import type { ConversationItem } from './schema.ts';

export interface RowItem {
  readonly id: string;
  /** The parts of the message that it is made of. */
  readonly parts: readonly MessagePart[];
  /** Undefined: removed. */
  readonly item: ConversationItem | undefined;
}

/** How the items of one message are called. */
interface ItemNames {
  message(part: number): string;
  reasoning(part: number): string;
  call(callId: string): string;
  result(callId: string): string;
  search(callId: string): string;
}

/** In order, removed ones too: what is told apart by its place stays so. `facts` are of the row's run. */
export function itemsOf(conversationId: string, row: MessageRow, facts: RunFacts | undefined): RowItem[] {
  const parts = partsOf(row);
  const role = row.removed?.role ?? row.role;
  const isInput = facts === undefined || row.position < facts.inputs;
  const names = namesOf(conversationId, row, facts);
  switch (role) {
    case 'user':
    case 'system': {
      // What asks the model again for an answer in the right format is the server's, and nobody said it.
      if (!isInput) return [];
      const left = parts.filter(isLeft);
      const id = names.message(0);
      return [{ id, parts, item: left.length === 0 ? undefined : renderMessage(id, role, left) }];
    }
    case 'assistant':
      return assistantItems(parts, names, facts?.searches === true);
    case 'tool':
      return parts.flatMap((part): RowItem[] => {
        if (part.callId === undefined || (facts?.searches === true && part.value?.toolName === FILE_SEARCH)) return [];
        const id = names.result(part.callId);
        return [{ id, parts: [part], item: isLeft(part) ? renderResult(id, part) : undefined }];
      });
  }
}

function isLeft(part: MessagePart): part is LeftPart {
  return part.value !== undefined;
}

/** Text and thought that follow each other are one item; calls in between do not divide them. */
function assistantItems(parts: readonly MessagePart[], names: ItemNames, searches: boolean): RowItem[] {
  const groups: { type: string; parts: MessagePart[] }[] = [];
  let open: { type: string; parts: MessagePart[] } | undefined;
  for (const part of parts) {
    if (part.type === 'tool-call') groups.push({ type: part.type, parts: [part] });
    else if (part.value?.text === '' && parts.length > 1) continue;
    else if (open?.type === part.type) open.parts.push(part);
    else {
      open = { type: part.type, parts: [part] };
      groups.push(open);
    }
  }
  const counts = new Map<string, number>();
  return groups.map(({ type, parts: own }): RowItem => {
    const nth = counts.get(type) ?? 0;
    counts.set(type, nth + 1);
    const left = own.filter(isLeft);
    const [first] = own;
    const render = <T>(make: () => T) => (left.length === 0 ? undefined : make());
    switch (type) {
      case 'tool-call': {
        const callId = first?.callId ?? '';
        const isSearch = searches && (first?.value?.toolName ?? FILE_SEARCH) === FILE_SEARCH;
        const id = isSearch ? names.search(callId) : names.call(callId);
        return { id, parts: own, item: render(() => (isSearch ? renderSearch(id, left) : renderCall(id, left))) };
      }
      case 'reasoning': {
        const id = names.reasoning(nth);
        return { id, parts: own, item: render(() => renderReasoning(id, left)) };
      }
      default: {
        const id = names.message(nth);
        return { id, parts: own, item: render(() => renderMessage(id, 'assistant', left)) };
      }
    }
  });
}

function namesOf(conversationId: string, row: MessageRow, facts: RunFacts | undefined): ItemNames {
  if (facts === undefined) {
    const named = (prefix: string) => () => postedItemId(prefix, conversationId, row);
    return {
      message: named('msg'),
      reasoning: named('rs'),
      call: named('fc'),
      result: named('fco'),
      search: named('fs'),
    };
  }
  const { id, inputs, modelSteps, answers } = facts;
  const nth = answers.indexOf(row.position);
  const step = modelSteps[nth] ?? nth;
  return {
    message: (part) => (row.position < inputs ? inputItemId(id, row.position) : messageItemId(id, step, part)),
    reasoning: (part) => reasoningItemId(id, step, part),
    call: (callId) => functionCallItemId(id, callId),
    result: (callId) => functionCallOutputItemId(id, callId),
    search: (callId) => fileSearchItemId(id, callId),
  };
}

function postedItemId(
  prefix: string,
  conversationId: string,
  { turn, position }: Pick<MessageRow, 'turn' | 'position'>,
): string {
  return `${withPrefix(prefix, conversationId)}_${turn}_${position}`;
}

const POSTED_ID = /^(?:msg|rs|fc|fco)_[0-9a-z]{26}_(\d{1,9})_(\d{1,9})$/;

/** Where the id says that its message is; undefined for one that was not made here for this conversation. */
export function placeOfPostedItem(
  conversationId: string,
  itemId: string,
): { turn: number; position: number } | undefined {
  const [, turn, position] = POSTED_ID.exec(itemId) ?? [];
  if (turn === undefined || position === undefined) return undefined;
  const place = { turn: Number(turn), position: Number(position) };
  const prefix = itemId.slice(0, itemId.indexOf('_'));
  return postedItemId(prefix, conversationId, place) === itemId ? place : undefined;
}
