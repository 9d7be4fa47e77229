/**
 * One definition per operation. Its schemas validate the request, type the handler, shape the reply and become
 * OpenAPI; the service gives it everything else (see service.ts for the order).
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Static, TSchema } from 'typebox';
import type { Database, Transaction } from '../db/database.ts';
import type { Logger } from '../log/log.ts';
import type { ByteContent } from './byte-content.ts';
import type { EventStream } from './event-stream.ts';
import type { StoredUpload, Upload, UploadTarget } from './upload.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** What every handler is given about the request besides its validated parts. */
export interface RequestContext<Caller> {
  readonly caller: Caller;
  readonly requestId: string;
  /** Lower-cased names, as Node gives them. */
  readonly headers: IncomingHttpHeaders;
  readonly log: Logger;
  /** Fires when the caller goes away before the answer. */
  readonly signal: AbortSignal;
}

/** The validated parts of a request. */
export interface RequestParts<P extends TSchema, Q extends TSchema, B extends TSchema> {
  readonly params: Static<P>;
  readonly query: Static<Q>;
  readonly body: Static<B>;
}

/** A reply whose status or headers differ from the operation's usual ones. */
export class HttpReply<Body = unknown> {
  readonly status: number;
  readonly body: Body;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: Body, headers: Readonly<Record<string, string>> = {}) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

export type Reply<R extends TSchema> = Static<R> | HttpReply<Static<R>>;

/** What the gate, the documentation and the tests may know of an operation. */
export interface OperationFacts {
  /** Stable dotted id: generated clients name their methods after it. */
  readonly id: string;
  readonly method: Method;
  /** Template with braces: `/v1/smiths/{sid}`. */
  readonly path: string;
  /** The last path parameter takes the rest of the path: clients send its slashes encoded, or as they are. */
  readonly restOfPath?: boolean;
  readonly summary: string;
  readonly description?: string;
  /** Who may call; the service's gate gives the words their meaning. `public` takes no token. */
  readonly posture: string;
  readonly scope?: string;
  /** Codes worth naming in the documentation beside the ones every operation can answer. */
  readonly errors?: readonly string[];
}

interface Schemas<P extends TSchema, Q extends TSchema, B extends TSchema, R extends TSchema> {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /** Absent: the operation answers without a body. */
  readonly reply?: R;
}

interface Answer {
  /** Usual success status. Default 200, or 204 without a reply schema. */
  readonly status?: number;
  /** Other success statuses with the same body. */
  readonly alsoStatus?: readonly number[];
  /** True where the operation can answer `text/event-stream` as well; `only` where `reply` is what each event holds. */
  readonly streams?: boolean | 'only';
  /** The operation answers with bytes of any type, whole or in part: a `ByteContent`. */
  readonly answers?: 'bytes';
}

export interface ReadSpec<Caller, P extends TSchema, Q extends TSchema, B extends TSchema, R extends TSchema>
  extends OperationFacts,
    Schemas<P, Q, B, R>,
    Answer {
  readonly handler: (
    request: RequestContext<Caller> & RequestParts<P, Q, B> & { readonly db: Database },
  ) => Promise<Reply<R> | ByteContent>;
}

export interface ChangeSpec<Caller, P extends TSchema, Q extends TSchema, B extends TSchema, R extends TSchema>
  extends OperationFacts,
    Schemas<P, Q, B, R>,
    Answer {
  /** Honours `Idempotency-Key`. Default: true for POST. */
  readonly idempotent?: boolean;
  readonly handler: (
    request: RequestContext<Caller> & RequestParts<P, Q, B> & { readonly tx: Transaction },
  ) => Promise<Reply<R>>;
}

export interface UploadSpec<
  Caller,
  P extends TSchema,
  Q extends TSchema,
  B extends TSchema,
  R extends TSchema,
  Stored extends StoredUpload,
> extends OperationFacts,
    Omit<Schemas<P, Q, B, R>, 'body'>,
    Answer {
  /** The form's fields beside the file, which are text. The handler gets them as `body`. */
  readonly fields: B;
  readonly upload: UploadTarget<Caller, Stored>;
  /** Honours `Idempotency-Key`. Default: true. */
  readonly idempotent?: boolean;
  readonly handler: (
    request: RequestContext<Caller> & RequestParts<P, Q, B> & { readonly tx: Transaction; readonly file: Stored },
  ) => Promise<Reply<R>>;
}

/** The key that the caller sent, and a fingerprint of everything that must match for a replay. */
export interface IdempotencyClaim {
  readonly operation: string;
  readonly key: string;
  readonly fingerprint: string;
}

export interface TurnSpec<Caller, P extends TSchema, Q extends TSchema, B extends TSchema, R extends TSchema>
  extends OperationFacts,
    Schemas<P, Q, B, R>,
    Answer {
  /** Hands the claim of `Idempotency-Key` to the handler. Default: false. */
  readonly idempotent?: boolean;
  readonly handler: (
    request: RequestContext<Caller> &
      RequestParts<P, Q, B> & { readonly db: Database; readonly idempotency: IdempotencyClaim | undefined },
  ) => Promise<Reply<R> | EventStream>;
}

/** An operation as the kernel keeps it: the schemas erased, the handler taking whatever was validated. */
export interface Operation<Caller> extends OperationFacts, Answer {
  readonly kind: 'read' | 'change' | 'turn';
  readonly idempotent: boolean;
  readonly params: TSchema | undefined;
  readonly query: TSchema | undefined;
  readonly body: TSchema | undefined;
  readonly reply: TSchema | undefined;
  /** Present: the body is a form with a file, and `body` is undefined. */
  readonly upload: Upload<Caller> | undefined;
  readonly handle: (request: ErasedRequest<Caller>) => Promise<unknown>;
}

export interface ErasedRequest<Caller> extends RequestContext<Caller> {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly db: Database;
  readonly tx: Transaction | undefined;
  readonly idempotency: IdempotencyClaim | undefined;
  readonly file: StoredUpload | undefined;
}

/** The four ways to define an operation, bound to one service's idea of a caller. */
export function operationsFor<Caller>() {
  return {
    /** Reads; no transaction. */
    read<P extends TSchema, Q extends TSchema, B extends TSchema, R extends TSchema>(
      spec: ReadSpec<Caller, P, Q, B, R>,
    ): Operation<Caller> {
      return erase(spec, 'read', false, (request) => spec.handler(request as never));
    },
    /** Changes; the handler runs inside one transaction, the stored idempotent answer in it too. */
    change<P extends TSchema, Q extends TSchema, B extends TSchema, R extends TSchema>(
      spec: ChangeSpec<Caller, P, Q, B, R>,
    ): Operation<Caller> {
      return erase(spec, 'change', spec.idempotent ?? spec.method === 'POST', (request) =>
        spec.handler(request as never),
      );
    },
    /** A change whose body is a form with a file. The file is stored while it arrives, before the transaction. */
    upload<P extends TSchema, Q extends TSchema, B extends TSchema, R extends TSchema, Stored extends StoredUpload>(
      spec: UploadSpec<Caller, P, Q, B, R, Stored>,
    ): Operation<Caller> {
      const { upload, fields, ...rest } = spec;
      const erased = erase(rest, 'change', spec.idempotent ?? true, (request) => spec.handler(request as never));
      // What the target stored comes back to it: the type ties both ends.
      return { ...erased, upload: { ...(upload as unknown as UploadTarget<Caller>), fields } };
    },
    /** Outlives any transaction (a turn, a stream); keeps its own account of idempotency. */
    turn<P extends TSchema, Q extends TSchema, B extends TSchema, R extends TSchema>(
      spec: TurnSpec<Caller, P, Q, B, R>,
    ): Operation<Caller> {
      return erase(spec, 'turn', spec.idempotent ?? false, (request) => spec.handler(request as never));
    },
  };
}

function erase<Caller>(
  spec: OperationFacts & Answer & Schemas<TSchema, TSchema, TSchema, TSchema>,
  kind: Operation<Caller>['kind'],
  idempotent: boolean,
  handle: Operation<Caller>['handle'],
): Operation<Caller> {
  const { params, query, body, reply } = spec;
  return { ...spec, kind, idempotent, params, query, body, reply, upload: undefined, handle };
}
