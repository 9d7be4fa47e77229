/**
 * One operation, from its validated request to its answer: `Idempotency-Key`, the transaction of a change, the handler,
 * and the reply, be it the schema's JSON, a stored answer, bytes or a stream of events.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { Database, Transaction } from '../db/database.ts';
import { ByteContent } from './byte-content.ts';
import { ApiError } from './errors.ts';
import { EventStream, serveEventStream } from './event-stream.ts';
import { type IdempotencyStore, readClaim, type StoredAnswer } from './idempotency.ts';
import { HttpReply, type IdempotencyClaim, type Operation } from './operation.ts';
import { setHeader } from './request-state.ts';
import { sendByteContent } from './send-byte-content.ts';
import { receiveForm, type StoredUpload, type Upload } from './upload.ts';

export interface RunOptions<Caller> {
  readonly db: Database;
  readonly idempotency: IdempotencyStore<Caller>;
}

/**
 * Runs the handler and answers. A change commits together with its stored answer, before the answer is sent. Throws what
 * the handler throws, and the refusals of its `Idempotency-Key`.
 */
export async function runOperation<Caller>(
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation<Caller>,
  options: RunOptions<Caller>,
): Promise<unknown> {
  const input = await readInput(request, operation, options);
  if (operation.kind === 'change') {
    const outcome = await settleUpload(request, operation, input, () =>
      commit(request, reply, operation, options, input),
    );
    if (outcome.replay === undefined) return answer(request, reply, operation, outcome.value);
    setHeader(request, reply, 'idempotent-replay', 'true');
    reply.code(outcome.replay.status).type('application/json; charset=utf-8');
    return reply.serializer((text: unknown) => String(text)).send(outcome.replay.body);
  }
  const handled = await handle(request, reply, operation, options, input, undefined);
  return answer(request, reply, operation, handled);
}

/** What the handler works on, and the key under which it does. */
interface Input {
  readonly body: unknown;
  readonly file: StoredUpload | undefined;
  readonly claim: IdempotencyClaim | undefined;
}

async function readInput<Caller>(
  request: FastifyRequest,
  operation: Operation<Caller>,
  { idempotency }: RunOptions<Caller>,
): Promise<Input> {
  const { upload } = operation;
  const claimFor = (fingerprinted: unknown) => {
    // Only these have a caller for certain: a public operation has none.
    if (!operation.idempotent) return undefined;
    const claimant = idempotency.claimantOf?.(request.state.caller as Caller, request.headers, request.ip) ?? '';
    const claimed = claimant === '' ? operation.id : `${operation.id} ${claimant}`;
    return readClaim(claimed, request.headers['idempotency-key'], request.url, fingerprinted);
  };
  if (upload === undefined) return { body: request.body ?? undefined, file: undefined, claim: claimFor(request.body) };
  // A key that is no good is told before the file is taken in.
  claimFor(undefined);
  const discard = (stored: StoredUpload) => discardUpload(request, upload, stored);
  const form = await receiveForm(request, request.state.caller as Caller, upload, discard);
  return { body: form.fields, file: form.file, claim: claimFor(form.fingerprinted) };
}

/**
 * Runs the transaction; an upload that it has not taken is discarded. After an error whose outcome is not known (the
 * connection broke on commit) the upload stays: the row may be there.
 */
async function settleUpload<Caller>(
  request: FastifyRequest,
  { upload }: Operation<Caller>,
  { file }: Input,
  run: () => Promise<Outcome>,
): Promise<Outcome> {
  if (upload === undefined || file === undefined) return run();
  let outcome: Outcome;
  try {
    outcome = await run();
  } catch (error) {
    if (error instanceof ApiError) await discardUpload(request, upload, file);
    throw error;
  }
  if (outcome.replay !== undefined) await discardUpload(request, upload, file);
  return outcome;
}

/** A failure to discard costs room, not the answer. */
async function discardUpload<Caller>(
  request: FastifyRequest,
  upload: Upload<Caller>,
  stored: StoredUpload,
): Promise<void> {
  try {
    await upload.discard(request.state.caller as Caller, stored);
  } catch (error) {
    request.log.error({ err: error }, 'an upload could not be discarded');
  }
}

interface Outcome {
  readonly value?: unknown;
  readonly replay?: StoredAnswer;
}

async function commit<Caller>(
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation<Caller>,
  options: RunOptions<Caller>,
  input: Input,
): Promise<Outcome> {
  const { claim } = input;
  return options.db.transaction(async (tx) => {
    if (claim === undefined) return { value: await handle(request, reply, operation, options, input, tx) };
    const caller = request.state.caller as Caller;
    const stored = await options.idempotency.claim(tx, caller, claim);
    if (stored !== undefined) return { replay: stored };
    const value = await handle(request, reply, operation, options, input, tx);
    const status = value instanceof HttpReply ? value.status : usualStatus(operation);
    const body = value instanceof HttpReply ? value.body : value;
    await options.idempotency.complete(tx, caller, claim, {
      status,
      body: body === undefined ? '' : serializeBody(reply, status, body),
    });
    return { value };
  });
}

function handle<Caller>(
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation<Caller>,
  options: RunOptions<Caller>,
  { body, file, claim }: Input,
  tx: Transaction | undefined,
): Promise<unknown> {
  return operation.handle({
    caller: request.state.caller as Caller,
    requestId: request.id,
    headers: request.headers,
    log: request.log as never,
    get signal() {
      return closeSignal(reply);
    },
    params: request.params,
    query: request.query,
    body,
    file,
    db: options.db,
    tx,
    idempotency: claim,
  });
}

/** The reply's JSON as the schema shapes it: what is stored for replay is what was sent. */
function serializeBody(reply: FastifyReply, status: number, body: unknown): string {
  return String(reply.serializeInput(body as Record<string, unknown>, String(status), 'application/json'));
}

async function answer<Caller>(
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation<Caller>,
  value: unknown,
): Promise<unknown> {
  if (value instanceof EventStream) {
    reply.hijack();
    await serveEventStream(reply.raw, value, request.state.headers).catch((error: unknown) => {
      request.log.error({ err: error }, 'event stream failed');
    });
    return;
  }
  if (value instanceof ByteContent) return sendByteContent(request, reply, value);
  const status = value instanceof HttpReply ? value.status : usualStatus(operation);
  const body = value instanceof HttpReply ? value.body : value;
  if (value instanceof HttpReply) {
    for (const [name, text] of Object.entries(value.headers)) setHeader(request, reply, name, text);
  }
  reply.code(status);
  return body === undefined ? reply.send() : reply.send(body);
}

/** The status of a plain success. */
function usualStatus(operation: { status?: number; reply: TSchema | undefined }): number {
  return operation.status ?? (operation.reply === undefined ? 204 : 200);
}

/** One for all: an abort without a reason makes an exception, with its stack, for every request that ends. */
const CLOSED = new DOMException('The caller is gone, or has its answer.', 'AbortError');

function closeSignal(reply: FastifyReply): AbortSignal {
  const abort = new AbortController();
  if (reply.raw.destroyed) abort.abort(CLOSED);
  else reply.raw.once('close', () => abort.abort(CLOSED));
  return abort.signal;
}
