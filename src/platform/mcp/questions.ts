/** Questions of servers to a person, in both revisions of the protocol. */
import { systemClock } from '../../kernel/clock/clock.ts';
import { setTimer } from '../../kernel/clock/timers.ts';
import type { JsonObject } from '../tables.ts';
import type { ToolAnswer, ToolQuestion } from '../tools/tool.ts';
import type { Elicit, InputRequired } from './client/connection.ts';
import { type Elicitation, readElicitation } from './client/elicitation.ts';

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
    const asked = method === 'elicitation/create' ? readElicitation(params) : undefined;
    if (asked === undefined) return `The MCP server asks for something that cannot be given: ${String(method)}.`;
    open.push({ key, message: asked.message, schema: asked.requestedSchema });
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

/** A call that a server of the older revision holds open while a person is asked, on this replica alone. */
export class HeldCall<Result> {
  readonly #id: string;
  readonly #work: Promise<Result>;
  readonly #ending = new AbortController();
  readonly #onEnd: () => void;
  #asked = Promise.withResolvers<ToolQuestion>();
  #answer: ((answer: Awaited<ReturnType<Elicit>>) => void) | undefined;

  /**
   * Begins the work, which asks by what it is given, and stops when the signal fires. `onEnd`: nobody will come back for it.
   */
  constructor(
    id: string,
    work: (elicit: Elicit, signal: AbortSignal) => Promise<Result>,
    { onEnd }: { readonly onEnd: () => void },
  ) {
    this.#id = id;
    this.#onEnd = onEnd;
    this.#work = work((asked) => this.#ask(asked), this.#ending.signal);
    // Whoever waits for it is told; after the last question that is nobody.
    this.#work.catch(() => {});
  }

  /** The result, or the next question. The call ends with the signal of whoever waits for it. */
  async next(signal: AbortSignal): Promise<{ readonly result: Result } | { readonly question: ToolQuestion }> {
    const onAbort = () => this.end();
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await Promise.race([
        this.#work.then((result) => ({ result })),
        this.#asked.promise.then((question) => ({ question })),
      ]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  answer({ action, content }: ToolAnswer): void {
    this.#asked = Promise.withResolvers();
    this.#answer?.({ action, ...(content === null ? {} : { content }) });
  }

  end(): void {
    this.#ending.abort(new Error('the call has ended: its run goes on without it'));
    this.#onEnd();
  }

  #ask({ message, requestedSchema }: Elicitation): ReturnType<Elicit> {
    const answered = Promise.withResolvers<Awaited<ReturnType<Elicit>>>();
    this.#answer = answered.resolve;
    const timer = setTimer(() => answered.resolve({ action: 'cancel' }), HELD_MS);
    const over = this.#work.then(
      () => {},
      () => {},
    );
    this.#asked.resolve({
      message,
      requestedSchema,
      state: { kind: 'held', id: this.#id },
      hold: { over, end: () => this.end() },
      expiresAt: new Date(systemClock.now().getTime() + HELD_MS),
    });
    return answered.promise.finally(() => timer.cancel());
  }
}
