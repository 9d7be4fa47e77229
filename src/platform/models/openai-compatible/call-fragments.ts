/** Puts calls of tools together from the fragments of a stream. */
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { mintId } from '../../../kernel/ids/ids.ts';
import { ANSWER_CALLS_MAX, ANSWER_CHARS_MAX, AnswerTooLarge } from '../answer-limits.ts';
import { signatureOf } from './answer-members.ts';
import { blankless, type CallFragment } from './chat-members.ts';

interface GrowingCall {
  /** What servers name it by in later fragments; the first of them may come late. */
  wireId: string | undefined;
  /** Set, and unlike all others, once the call has been shown. */
  id: string | undefined;
  index: number | undefined;
  name: string | undefined;
  args: string;
  thoughtSignature: string | undefined;
}

type Part = LanguageModelV4StreamPart;

/**
 * A call begins with its name; its id and its number (`index`) may be missing, and both may be used twice. Which call a
 * fragment belongs to is told by its number, else its id, else it is the newest. A call is over when the answer is: what
 * has come of its arguments may be readable, and only the beginning of them.
 */
export class CallFragments {
  readonly #provider: string;
  readonly #calls: GrowingCall[] = [];
  readonly #takenIds = new Set<string>();
  /** Of all arguments. */
  #chars = 0;

  constructor(provider: string) {
    this.#provider = provider;
  }

  add(fragment: CallFragment): Part[] {
    const known = this.#find(fragment);
    if (known === undefined && fragment.name !== undefined && blankless(fragment.name) === undefined) return [];
    const call = known ?? this.#begin();
    this.#chars += fragment.args?.length ?? 0;
    // Those of a call without a name are shown to nobody, who would count them.
    if (this.#chars > ANSWER_CHARS_MAX)
      throw new AnswerTooLarge(`arguments of more than ${ANSWER_CHARS_MAX} characters`);
    call.index ??= fragment.index;
    call.wireId ??= fragment.id;
    call.thoughtSignature ??= fragment.thoughtSignature;
    call.name ??= blankless(fragment.name);
    call.args += fragment.args ?? '';
    if (call.name === undefined) return [];
    if (call.id !== undefined) {
      return fragment.args === undefined ? [] : [{ type: 'tool-input-delta', id: call.id, delta: fragment.args }];
    }
    const id = this.#nameCall(call.wireId);
    call.id = id;
    const start: Part = { type: 'tool-input-start', id, toolName: call.name };
    return call.args === '' ? [start] : [start, { type: 'tool-input-delta', id, delta: call.args }];
  }

  /** The finished calls, in the order of their numbers where all have one. `undefined`: one of them was never named. */
  end(): Part[] | undefined {
    const calls = this.#calls.every(({ index }) => index !== undefined)
      ? this.#calls.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0))
      : this.#calls;
    const parts: Part[] = [];
    for (const { id, name, args, thoughtSignature } of calls) {
      if (id === undefined || name === undefined) return undefined;
      parts.push({ type: 'tool-input-end', id });
      const signature = signatureOf(this.#provider, thoughtSignature);
      parts.push({ type: 'tool-call', toolCallId: id, toolName: name, input: args, ...signature });
    }
    return parts;
  }

  #begin(): GrowingCall {
    if (this.#calls.length === ANSWER_CALLS_MAX)
      throw new AnswerTooLarge(`more than ${ANSWER_CALLS_MAX} calls of tools`);
    const call: GrowingCall = {
      wireId: undefined,
      id: undefined,
      index: undefined,
      name: undefined,
      args: '',
      thoughtSignature: undefined,
    };
    this.#calls.push(call);
    return call;
  }

  #find(fragment: CallFragment): GrowingCall | undefined {
    const call = this.#findNamed(fragment);
    return call === undefined || isAnother(call, fragment) ? undefined : call;
  }

  #findNamed({ index, id, name }: CallFragment): GrowingCall | undefined {
    const byIndex = index === undefined ? undefined : this.#calls.findLast((call) => call.index === index);
    if (byIndex !== undefined) {
      return this.#calls.findLast((call) => call.index === index && id !== undefined && call.wireId === id) ?? byIndex;
    }
    // A number that is new begins a call, unless the fragment goes on with one by its id.
    if (index !== undefined && (id === undefined || name !== undefined)) return undefined;
    if (id !== undefined) return this.#calls.findLast((call) => call.wireId === id);
    return name === undefined ? this.#calls.at(-1) : undefined;
  }

  #nameCall(wireId: string | undefined): string {
    const id = wireId !== undefined && !this.#takenIds.has(wireId) ? wireId : mintId('call');
    this.#takenIds.add(id);
    return id;
  }
}

/** Whether a fragment that has a call's number, or its id, begins another one: servers use them again. */
function isAnother(call: GrowingCall, { id, name, args }: CallFragment): boolean {
  const named = blankless(name);
  if (named === undefined || call.name === undefined) return false;
  if (named !== call.name) return true;
  // Some servers repeat the name in each fragment, so that it takes the beginning of new arguments.
  if (!/^\s*[[{]/.test(args ?? '')) return false;
  return (id !== undefined && call.wireId !== undefined && id !== call.wireId) || isWhole(call.args);
}

function isWhole(args: string): boolean {
  try {
    return typeof JSON.parse(args) === 'object';
  } catch {
    return false;
  }
}
