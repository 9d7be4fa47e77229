/**
 * The members of chunks and answers that are read, and what each must be. Everything else in them is ignored. `undefined`
 * stands for what is absent or null; what is of a wrong type makes the whole unreadable.
 */

export type Members = Readonly<Record<string, unknown>>;

/** Something that is no answer of a model. The message names the member and quotes nothing. */
export class WrongMember extends Error {
  constructor(member: string, wanted: string) {
    super(`\`${member}\` is not ${wanted}`);
    this.name = 'WrongMember';
  }
}

export function objectOf(value: unknown, member: string): Members {
  const found = optionalObject(value, member);
  if (found === undefined) throw new WrongMember(member, 'an object');
  return found;
}

export function optionalObject(value: unknown, member: string): Members | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'object' || Array.isArray(value)) throw new WrongMember(member, 'an object');
  return value as Members;
}

export function listOf(value: unknown, member: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new WrongMember(member, 'a list');
  return value;
}

export function optionalText(value: unknown, member: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new WrongMember(member, 'a text');
  return value;
}

export function optionalNumber(value: unknown, member: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number') throw new WrongMember(member, 'a number');
  return value;
}

/** Text, thoughts and a refusal, of a chunk's delta or of a whole message. */
export interface Said {
  readonly reasoning: string;
  /** In order: some servers send a list of texts and thoughts. */
  readonly content: readonly { readonly type: 'text' | 'reasoning'; readonly text: string }[];
  readonly refusal: string;
}

export function readSaid(message: Members): Said {
  return {
    // Most servers name it `reasoning_content`, those of gpt-oss `reasoning`.
    reasoning:
      optionalText(message.reasoning_content, 'reasoning_content') ??
      optionalText(message.reasoning, 'reasoning') ??
      '',
    content: readContent(message.content),
    refusal: typeof message.refusal === 'string' ? message.refusal : '',
  };
}

const NOTHING: Said['content'] = [];

function readContent(content: unknown): Said['content'] {
  if (content === undefined || content === null || content === '') return NOTHING;
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return listOf(content, 'content').flatMap((each): Said['content'] => {
    const part = objectOf(each, 'content[]');
    if (part.type === 'text' && typeof part.text === 'string') return textPart('text', part.text);
    if (part.type !== 'thinking' || !Array.isArray(part.thinking)) return NOTHING;
    const thoughts = part.thinking.map((thought) =>
      thought?.type === 'text' && typeof thought.text === 'string' ? thought.text : '',
    );
    return textPart('reasoning', thoughts.join(''));
  });
}

function textPart(type: 'text' | 'reasoning', text: string): Said['content'] {
  return text === '' ? NOTHING : [{ type, text }];
}

/** A call of a tool, or a fragment of one. */
export interface CallFragment {
  readonly index: number | undefined;
  /** Undefined for a blank one too. */
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly args: string | undefined;
  readonly thoughtSignature: string | undefined;
}

export function readCallFragments(calls: unknown): readonly CallFragment[] {
  if (calls === undefined || calls === null) return [];
  return listOf(calls, 'tool_calls').map((each) => {
    const call = objectOf(each, 'tool_calls[]');
    const called = objectOf(call.function, 'function');
    const google = optionalObject(optionalObject(call.extra_content, 'extra_content')?.google, 'google');
    return {
      index: optionalNumber(call.index, 'index'),
      id: blankless(optionalText(call.id, 'id')),
      name: optionalText(called.name, 'name'),
      args: readArguments(called.arguments),
      thoughtSignature: optionalText(google?.thought_signature, 'thought_signature') || undefined,
    };
  });
}

/** Some servers send the arguments as an object in place of its JSON text. */
function readArguments(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : optionalText(value, 'arguments');
}

export function blankless(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === '' ? undefined : text;
}
