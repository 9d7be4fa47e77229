/**
 * One operation, from its validated request to its answer: `Idempotency-Key`, the transaction of a change, the handler,
 * and the reply, be it the schema's JSON, a stored answer, bytes or a stream of events.
 */

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { elapsedMs } from '../clock/timers.ts';
import type { Database, Transaction } from '../db/database.ts';
import { ownIteration } from '../event-loop/own-iteration.ts';
import { ByteContent } from './byte-content.ts';
import type { Gate, Meters } from './check-request.ts';
import { ApiError } from './errors.ts';
import { EventStream, serveEventStream } from './event-stream.ts';
import { type IdempotencyStore, readClaim, type StoredAnswer } from './idempotency.ts';
import type { ErasedRequest, IdempotencyClaim, Operation } from './operation.ts';
import { addressKey } from './rate-limit.ts';
import { HttpReply, TextReply, WrittenJson } from './reply.ts';
import { setHeader, setQuota } from './request-state.ts';
import { sendByteContent } from './send-byte-content.ts';
import { checkUpgrade, type SocketOpener } from './serve-sockets.ts';
import type { SocketSession } from './socket.ts';
import type { StandingWatch } from './standing-watch.ts';
import { receiveForm, type StoredUpload, type Upload } from './upload.ts';

export interface RunOptions<Caller> {
  readonly db: Database;
  readonly idempotency: IdempotencyStore<Caller>;
  readonly gate: Pick<Gate<Caller>, 'meterKey'>;
  readonly meters: Meters;
  readonly standing: StandingWatch;
}

const LARGE_BODY_BYTES = 256 * 1024;
/** How long what an operation reads ahead counts as read by its handler. */
const AHEAD_FRESH_MS = 5_000;

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
  // What a large body asks for takes as long again as validating it did, and so does its fingerprint: others get their turn in
  // between.
  const isLarge = hasLargeBody(request);
  if (isLarge) await ownIteration();
  const input = await readInput(request, operation, options);
  if (isLarge) await ownIteration();
  if (operation.kind === 'change') {
    const outcome = await settleUpload(request, operation, input, () =>
      commit(request, reply, operation, options, input),
    );
    if (outcome.replay === undefined) return answer(request, reply, operation, options, outcome.value);
    setHeader(request, reply, 'idempotent-replay', 'true');
    reply.code(outcome.replay.status).type('application/json; charset=utf-8');
    return reply.serializer((text: unknown) => String(text)).send(outcome.replay.body);
  }
  if (operation.verify !== undefined) await takeVerified(request, reply, operation, options, input);
  const handled = await handle(request, reply, operation, options, input, undefined);
  if (operation.isFreeWhenDone === true) await giveBack(request, reply, options);
  // The answer may repeat it all, and was read a moment ago.
  if (isLarge) await ownIteration();
  return answer(request, reply, operation, options, handled);
}

/** Gives the address back what the call took from its budget. */
async function giveBack<Caller>(
  request: FastifyRequest,
  reply: FastifyReply,
  { meters }: RunOptions<Caller>,
): Promise<void> {
  const key = addressKey(request.ip);
  await meters.address.giveBack(key);
  setQuota(request, reply, await meters.address.look(key));
}

/** One that does not say how long it is counts as large. */
function hasLargeBody({ headers }: FastifyRequest): boolean {
  const length = headers['content-length'];
  return length === undefined ? headers['transfer-encoding'] !== undefined : !(Number(length) <= LARGE_BODY_BYTES);
}

/** Runs the handler of a WebSocket, then upgrades the connection and leaves it to its session. */
export async function runSocket<Caller>(
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation<Caller>,
  options: RunOptions<Caller>,
  open: SocketOpener,
): Promise<void> {
  checkUpgrade(request, operation.socket ?? {});
  if (operation.verify !== undefined) await takeVerified(request, reply, operation, options, NO_INPUT);
  const session = await handle(request, reply, operation, options, NO_INPUT, undefined);
  await open(request, reply, session as SocketSession);
}

/** Makes the call its sender's: it takes from the budget of the sender's owner. One that is forged takes from its address's. */
async function takeVerified<Caller>(
  request: FastifyRequest,
  reply: FastifyReply,
  { verify }: Operation<Caller>,
  options: RunOptions<Caller>,
  input: Input,
): Promise<void> {
  if (verify === undefined) return;
  const { gate, meters } = options;
  const unverified = erasedRequest<unknown>(request, reply, { db: options.db, tx: undefined }, input);
  let caller: Caller;
  try {
    caller = (await verify(unverified)) as Caller;
  } catch (refusal) {
    // A store that fails is not the caller's doing.
    if (refusal instanceof ApiError) setQuota(request, reply, await meters.address.take(addressKey(request.ip)));
    throw refusal;
  }
  request.state.caller = caller;
  const quota =
    caller === undefined ? meters.address.take(addressKey(request.ip)) : meters.owner.take(gate.meterKey(caller));
  setQuota(request, reply, await quota);
}

/** What the handler works on, and the key under which it does. */
interface Input {
  readonly body: unknown;
  readonly files: readonly StoredUpload[];
  readonly claim: IdempotencyClaim | undefined;
  /** What the operation's `prepare` has made. */
  readonly prepared?: unknown;
}

const NO_FILES: readonly StoredUpload[] = [];
const NO_INPUT: Input = { body: undefined, files: NO_FILES, claim: undefined };

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
  if (upload === undefined) {
    return { body: request.body ?? undefined, files: NO_FILES, claim: claimFor(request.body) };
  }
  // A key that is no good is told before the file is taken in.
  claimFor(undefined);
  const discard = (stored: StoredUpload) => discardUpload(request, upload, stored);
  const form = await receiveForm(request, request.state.caller as Caller, upload, discard);
  return { body: form.fields, files: form.files, claim: claimFor(form.fingerprinted) };
}

/**
 * Runs the transaction; an upload that it has not taken is discarded. After an error whose outcome is not known (the
 * connection broke on commit) the upload stays: the row may be there.
 */
async function settleUpload<Caller>(
  request: FastifyRequest,
  { upload }: Operation<Caller>,
  { files }: Input,
  run: () => Promise<Outcome>,
): Promise<Outcome> {
  if (upload === undefined) return run();
  let outcome: Outcome;
  try {
    outcome = await run();
  } catch (error) {
    if (error instanceof ApiError) await discardAll(request, upload, files);
    throw error;
  }
  if (outcome.replay !== undefined) await discardAll(request, upload, files);
  return outcome;
}

async function discardAll<Caller>(
  request: FastifyRequest,
  upload: Upload<Caller>,
  files: readonly StoredUpload[],
): Promise<void> {
  for (const file of files) await discardUpload(request, upload, file);
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
  const refusal = await precheck(request, reply, operation, input);
  const { prepare } = operation;
  if (prepare === undefined || refusal !== undefined) return change(request, reply, operation, options, input, refusal);
  const { claim } = input;
  const caller = request.state.caller as Caller;
  const stored = claim && (await options.db.transaction((tx) => options.idempotency.claim(tx, caller, claim)));
  if (stored !== undefined) return { replay: stored };
  const erased = erasedRequest<Caller>(request, reply, { db: undefined, tx: undefined }, input);
  const prepared = await prepare.make(erased);
  const discard = () =>
    prepare.discard(erased, prepared).catch((error: unknown) => {
      request.log.error({ err: error }, 'what a refused change had made elsewhere could not be taken back');
    });
  try {
    const outcome = await change(request, reply, operation, options, { ...input, prepared }, undefined);
    if (outcome.replay !== undefined) await discard();
    return outcome;
  } catch (error) {
    // As with uploads: after any other error the change may be there.
    if (error instanceof ApiError) await discard();
    throw error;
  }
}

function change<Caller>(
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation<Caller>,
  options: RunOptions<Caller>,
  input: Input,
  refusal: { readonly error: unknown } | undefined,
): Promise<Outcome> {
  const { claim } = input;
  return options.db.transaction(async (tx) => {
    if (claim === undefined) {
      if (refusal !== undefined) throw refusal.error;
      return { value: await handle(request, reply, operation, options, input, tx) };
    }
    const caller = request.state.caller as Caller;
    const stored = await options.idempotency.claim(tx, caller, claim);
    if (stored !== undefined) return { replay: stored };
    if (refusal !== undefined) throw refusal.error;
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

/** The refusal, kept until it is known that no stored answer comes before it. */
async function precheck<Caller>(
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation<Caller>,
  input: Input,
): Promise<{ readonly error: unknown } | undefined> {
  try {
    await operation.precheck?.(erasedRequest<Caller>(request, reply, { db: undefined, tx: undefined }, input));
    return undefined;
  } catch (error) {
    return { error };
  }
}

function handle<Caller>(
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation<Caller>,
  options: RunOptions<Caller>,
  input: Input,
  tx: Transaction | undefined,
): Promise<unknown> {
  const caller = request.state.caller as Caller;
  const { handles } = operation;
  const store = {
    db: handles.db(options.db, caller),
    tx: tx === undefined ? undefined : handles.tx(tx, caller),
  };
  return operation.handle(erasedRequest<Caller>(request, reply, store, input));
}

function erasedRequest<Caller>(
  request: FastifyRequest,
  reply: FastifyReply,
  { db, tx }: { readonly db: unknown; readonly tx: unknown },
  { body, files, claim, prepared }: Input,
): ErasedRequest<Caller> {
  return {
    caller: request.state.caller as Caller,
    requestId: request.id,
    url: request.url,
    headers: request.headers,
    get address() {
      return addressKey(request.ip);
    },
    log: request.log as never,
    get signal() {
      return closeSignal(reply);
    },
    params: request.params,
    query: request.query,
    body,
    file: files[0],
    files,
    db,
    tx,
    idempotency: claim,
    prepared,
    ahead: readAheadOf(request),
  };
}

/** What was read before a body that took long to arrive is not how things stand. */
function readAheadOf({ state: { ahead } }: FastifyRequest): Promise<unknown> | undefined {
  return ahead === undefined || elapsedMs() - ahead.begunAtMs > AHEAD_FRESH_MS ? undefined : ahead.read;
}

/** The reply's JSON as the schema shapes it: what is stored for replay is what was sent. */
function serializeBody(reply: FastifyReply, status: number, body: unknown): string {
  return String(reply.serializeInput(body as Record<string, unknown>, String(status), 'application/json'));
}

async function answer<Caller>(
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation<Caller>,
  { standing }: RunOptions<Caller>,
  value: unknown,
): Promise<unknown> {
  if (value instanceof EventStream) {
    reply.hijack();
    const { authorization } = request.headers;
    const isOfCaller = authorization !== undefined && request.state.caller !== undefined;
    // Cut off, so that nobody takes what has come so far for all of it.
    const unwatch = isOfCaller ? standing.watch(authorization, () => reply.raw.destroy()) : undefined;
    await serveEventStream(reply.raw, value, request.state.headers).catch((error: unknown) => {
      request.log.error({ err: error }, 'event stream failed');
    });
    unwatch?.();
    return;
  }
  if (value instanceof ByteContent) return sendByteContent(request, reply, value);
  if (value instanceof TextReply) {
    if (typeof operation.answers !== 'object' || !operation.answers.includes(value.kind)) {
      throw new TypeError(`${operation.id} answers with ${value.kind}, which its definition does not say`);
    }
    return sendText(request, reply, value);
  }
  if (value instanceof WrittenJson) {
    for (const [name, text] of Object.entries(value.headers)) setHeader(request, reply, name, text);
    reply.code(value.status ?? usualStatus(operation)).type('application/json; charset=utf-8');
    return reply.send(value.bytes);
  }
  const status = value instanceof HttpReply ? value.status : usualStatus(operation);
  const body = value instanceof HttpReply ? value.body : value;
  if (value instanceof HttpReply) {
    for (const [name, text] of Object.entries(value.headers)) setHeader(request, reply, name, text);
  }
  reply.code(status);
  return body === undefined ? reply.send() : reply.send(body);
}

/** Sends what a handler, or an error dialect, wrote itself. */
export function sendText(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, text, headers }: TextReply,
): FastifyReply {
  for (const [name, value] of Object.entries(headers)) setHeader(request, reply, name, value);
  return reply.code(status).serializer(String).send(text);
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
