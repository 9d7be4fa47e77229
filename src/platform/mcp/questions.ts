/** Questions of servers to a person, in both revisions of the protocol. */
import type { JsonObject } from '../tables.ts';
import type { ToolAnswer, ToolQuestion } from '../tools/tool.ts';
import type { Elicit, Elicitation, InputRequired } from './client/connection.ts';

/** How long a call that a server holds open waits for its answer. */
const HELD_MS = 900_000;

/**
 * What is kept with a question of the newer revision: the server's own state, and its requests, of which one is asked at a
 * time. Any replica makes the call again with the answers.
 */
interface AskedState {
  readonly kind: 'input_required';
  readonly request_state: string | null;
  /** By key, those still to be asked; the first is being asked. */
  readonly open: readonly { readonly key: string; readonly message: string; readonly schema: JsonObject }[];
  readonly responses: JsonObject;
}

/** The question that an answer of the newer revision comes to; a text: why nobody can be asked. */
export function questionOf(required: InputRequired): ToolQuestion | string {
  const open: AskedState['open'][number][] = [];
  for (const [key, { method, params }] of Object.entries(required.inputRequests ?? {})) {
    const { mode = 'form', message, requestedSchema } = (params ?? {}) as JsonObject;
    const isForm = method === 'elicitation/create' && mode === 'form' && isObject(requestedSchema);
    if (!isForm) return `The MCP server asks for something that cannot be given: ${String(method)}.`;
    open.push({ key, message: String(message ?? ''), schema: requestedSchema });
  }
  const state = { kind: 'input_required', request_state: required.requestState ?? null, open, responses: {} } as const;
  return askNext(state) ?? 'The MCP server asks for input, and names none.';
}

/** The next question, or what the call is made again with. */
export function answerQuestion(
  answer: ToolAnswer,
): { readonly question: ToolQuestion } | { readonly input: JsonObject } {
  const { open, responses, request_state } = answer.state as unknown as AskedState;
  const [asked, ...left] = open;
  const { action, content } = answer;
  const given = asked === undefined ? {} : { [asked.key]: { action, ...(content === null ? {} : { content }) } };
  const all = { ...responses, ...given };
  const question = askNext({ kind: 'input_required', request_state, open: left, responses: all });
  if (question !== undefined) return { question };
  return { input: { inputResponses: all, ...(request_state === null ? {} : { requestState: request_state }) } };
}

function askNext(state: AskedState): ToolQuestion | undefined {
  const next = state.open[0];
  if (next === undefined) return undefined;
  return { message: next.message, requestedSchema: next.schema, state: state as unknown as JsonObject };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A call that a server of the older revision holds open while a person is asked, on this replica alone. */
export class HeldCall<Result> {
  readonly #id: string;
  readonly #work: Promise<Result>;
  #asked = Promise.withResolvers<ToolQuestion>();
  #answer: ((answer: Awaited<ReturnType<Elicit>>) => void) | undefined;

  /** Begins the work, which asks by what it is given. */
  constructor(id: string, work: (elicit: Elicit) => Promise<Result>) {
    this.#id = id;
    this.#work = work((asked) => this.#ask(asked));
    // Whoever waits for it is told; after the last question that is nobody.
    this.#work.catch(() => {});
  }

  /** The result, or the next question. */
  async next(): Promise<{ readonly result: Result } | { readonly question: ToolQuestion }> {
    return Promise.race([
      this.#work.then((result) => ({ result })),
      this.#asked.promise.then((question) => ({ question })),
    ]);
  }

  answer({ action, content }: ToolAnswer): void {
    this.#asked = Promise.withResolvers();
    this.#answer?.({ action, ...(content === null ? {} : { content }) });
  }

  #ask({ message, requestedSchema }: Elicitation): ReturnType<Elicit> {
    const answered = Promise.withResolvers<Awaited<ReturnType<Elicit>>>();
    this.#answer = answered.resolve;
    const timer = setTimeout(() => answered.resolve({ action: 'cancel' }), HELD_MS).unref();
    this.#asked.resolve({
      message,
      requestedSchema,
      state: { kind: 'held', id: this.#id },
      isHeld: true,
      expiresAt: new Date(Date.now() + HELD_MS),
    });
    return answered.promise.finally(() => clearTimeout(timer));
  }
}
