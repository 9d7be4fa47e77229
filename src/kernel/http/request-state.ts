/** What is known of a request before its handler runs, and the headers of its answer, which an event stream sends itself. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Operation } from './operation.ts';
import { type Quota, quotaHeaders } from './rate-limit.ts';

/** Set by the first check. */
export interface RequestState {
  caller: unknown;
  operation: Operation<unknown> | undefined;
  /** Set on the answer so far; lower-cased names. */
  headers: Record<string, string>;
  /** What the operation reads ahead of its handler. */
  ahead?: { readonly read: Promise<unknown> | undefined; readonly begunAtMs: number } | undefined;
  /** The sender's `Content-Type`, while a raw body is read. */
  contentType?: string | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    state: RequestState;
  }
  interface FastifyContextConfig {
    operation?: Operation<unknown>;
    /** Asked by machines, every second and for ever. */
    isProbe?: boolean;
  }
}

/** Sets a header of the answer, be it a reply or an event stream. */
export function setHeader(request: FastifyRequest, reply: FastifyReply, name: string, value: string): void {
  if (request.state) request.state.headers[name] = value;
  reply.header(name, value);
}

/** Shows what is left of a budget. */
export function setQuota(request: FastifyRequest, reply: FastifyReply, quota: Quota): void {
  for (const [name, value] of Object.entries(quotaHeaders(quota))) setHeader(request, reply, name, value);
}
