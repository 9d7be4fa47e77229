/**
 * One operation, from its validated request to its answer: `Idempotency-Key`, the transaction of a change, the handler,
 * and the reply, be it the schema's JSON, a stored answer or a stream of events.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { Database, Transaction } from '../db/database.ts';
import { EventStream, serveEventStream } from './event-stream.ts';
import { type IdempotencyStore, readClaim } from './idempotency.ts';
import { HttpReply, type IdempotencyClaim, type Operation } from './operation.ts';
import { setHeader } from './request-state.ts';

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
  const claim = operation.idempotent
    ? readClaim(operation.id, request.headers['idempotency-key'], request.url, request.body)
    : undefined;
  const handle = (tx: Transaction | undefined, idempotency: IdempotencyClaim | undefined) =>
    operation.handle({
      caller: request.state.caller as Caller,
      requestId: request.id,
      headers: request.headers,
      log: request.log as never,
      get signal() {
        return closeSignal(reply);
      },
      params: request.params,
      query: request.query,
      body: request.body ?? undefined,
      db: options.db,
      tx,
      idempotency,
    });
  if (operation.kind !== 'change') return answer(request, reply, operation, await handle(undefined, claim));

  const result = await options.db.transaction(async (tx) => {
    if (claim === undefined) return { value: await handle(tx, undefined) };
    const caller = request.state.caller as Caller;
    const stored = await options.idempotency.claim(tx, caller, claim);
    if (stored !== undefined) return { replay: stored };
    const value = await handle(tx, claim);
    const status = value instanceof HttpReply ? value.status : usualStatus(operation);
    const body = value instanceof HttpReply ? value.body : value;
    await options.idempotency.complete(tx, caller, claim, {
      status,
      body: body === undefined ? '' : serializeBody(reply, status, body),
    });
    return { value };
  });
  if (result.replay !== undefined) {
    setHeader(request, reply, 'idempotent-replay', 'true');
    reply.code(result.replay.status).type('application/json; charset=utf-8');
    return reply.serializer((text: unknown) => String(text)).send(result.replay.body);
  }
  return answer(request, reply, operation, result.value);
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

function closeSignal(reply: FastifyReply): AbortSignal {
  const abort = new AbortController();
  if (reply.raw.destroyed) abort.abort();
  else reply.raw.once('close', () => abort.abort());
  return abort.signal;
}
