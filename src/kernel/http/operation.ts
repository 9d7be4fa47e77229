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
import type { OperationErrorDialect } from './operation-errors.ts';
import type { HttpReply, TextKind, TextReply, WrittenJson } from './reply.ts';
import type { BodyFormat, RawBody } from './request-body.ts';
import type { SocketRules, SocketSession } from './socket.ts';
import type { StoredUpload, Upload, UploadTarget } from './upload.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** What every handler is given about the request besides its validated parts. */
export interface RequestContext<Caller> {
  readonly caller: Caller;
  readonly requestId: string;
  /** Path and query as they were sent. */
  readonly url: string;
  /** Lower-cased names, as Node gives them. */
  readonly headers: IncomingHttpHeaders;
  /** Where it comes from, as budgets count it: of IPv6 the /64. */
  readonly address: string;
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

export { HttpReply, WrittenJson } from './reply.ts';

/** The schema's JSON, or one of the texts that `answers` names. */
export type Reply<R extends TSchema> = Static<R> | HttpReply<Static<R>> | TextReply | WrittenJson;

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
  /** How every refusal of this operation is told. Default: as the service tells them. */
  readonly errorDialect?: OperationErrorDialect;
  /** The largest body. Default: the service's limit. */
  readonly maxBodyBytes?: number;
  /**
   * Parameters that `WWW-Authenticate` names besides the realm, as they stand there (RFC 9728, section 5.1): where a client
   * learns whom to ask for a token.
   */
  readonly challenge?: (params: Readonly<Record<string, string>>) => string;
  /** Public, and a call that succeeds costs its address nothing: one program may call it for thousands of people. */
  readonly isFreeWhenDone?: boolean;
  /** Nothing answers to other methods on the path, and a protocol demands that they be told so: 405, with `Allow`. */
  readonly isOnlyMethod?: boolean;
}

interface Schemas<P extends TSchema, Q extends TSchema, B extends TSchema, R extends TSchema> {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /** A body that works as it stands, on a new project; ids in it stand for the reader's own. Shown in the reference. */
  readonly example?: Static<B>;
  /** What the body is written in. Default `json`. */
  readonly bodyFormat?: 'json' | 'form' | 'json or form';
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
  /** What each event of the stream holds, where it streams beside JSON. */
  readonly frames?: TSchema;
  /**
   * `bytes`: the operation answers with bytes of any type, whole or in part: a `ByteContent`. A list: it may answer with
   * these kinds of text, beside the JSON of `reply` where there is one.
   */
  readonly answers?: 'bytes' | readonly TextKind[];
}

export interface ReadSpec<Caller, P extends TSchema, Q extends TSchema, B extends TSchema, R extends TSchema, Db>
  extends OperationFacts,
    Schemas<P, Q, B, R>,
    Answer {
  readonly handler: (
    request: RequestContext<Caller> & RequestParts<P, Q, B> & { readonly db: Db },
  ) => Promise<Reply<R> | ByteContent>;
}

/**
 * What a change makes elsewhere, where no transaction reaches: before its own begins, and not for a request whose
 * `Idempotency-Key` has an answer.
 */
export interface Preparation<Request, Prepared> {
  /** Throws the refusal. */
  readonly make: (request: Request) => Promise<Prepared>;
  /**
   * Takes it back: the change was refused. Not called where its outcome is not known, nor after the process has died: whoever
   * makes something has to find out later.
   */
  readonly discard: (request: Request, prepared: Prepared) => Promise<void>;
}

export interface ChangeSpec<
  Caller,
  P extends TSchema,
  Q extends TSchema,
  B extends TSchema,
  R extends TSchema,
  Tx,
  Prepared = undefined,
> extends OperationFacts,
    Schemas<P, Q, B, R>,
    Answer {
  /** Honours `Idempotency-Key`, which replays JSON. Default: true for POST, unless the operation answers with texts. */
  readonly idempotent?: boolean;
  /**
   * Checks what takes time and is not the store's, such as a look-up of a name, before the transaction begins; throws the
   * refusal. A request that is answered with what was stored for its `Idempotency-Key` is not refused.
   */
  readonly precheck?: (request: RequestContext<Caller> & RequestParts<P, Q, B>) => Promise<void>;
  /** After the precheck. */
  readonly prepare?: Preparation<RequestContext<Caller> & RequestParts<P, Q, B>, Prepared>;
  readonly handler: (
    request: RequestContext<Caller> & RequestParts<P, Q, B> & { readonly tx: Tx; readonly prepared: Prepared },
  ) => Promise<Reply<R>>;
}

export interface UploadSpec<
  Caller,
  P extends TSchema,
  Q extends TSchema,
  B extends TSchema,
  R extends TSchema,
  Part extends StoredUpload,
  Stored extends StoredUpload,
  Tx,
> extends OperationFacts,
    Omit<Schemas<P, Q, B, R>, 'body' | 'bodyFormat' | 'example'>,
    Answer {
  /** The form's fields beside the file, which are text. The handler gets them as `body`. */
  readonly fields: B;
  readonly upload: UploadTarget<Caller, Part, Stored>;
  /** Honours `Idempotency-Key`. Default: true. */
  readonly idempotent?: boolean;
  readonly handler: (
    request: RequestContext<Caller> &
      RequestParts<P, Q, B> & {
        readonly tx: Tx;
        /** The first, and the only one where the target takes one or combines them. */
        readonly file: Stored;
        /** All of them, in the order in which they came. */
        readonly files: readonly Stored[];
      },
  ) => Promise<Reply<R>>;
}

/** A request whose sender proves itself by what it sends: a signature over the body, say. */
export type UnverifiedRequest<P extends TSchema, Q extends TSchema> = Omit<RequestContext<unknown>, 'caller'> &
  RequestParts<P, Q, TSchema> & { readonly body: RawBody; readonly db: Database };

export interface RawSpec<Caller, P extends TSchema, Q extends TSchema, R extends TSchema, Db>
  extends OperationFacts,
    Omit<Schemas<P, Q, TSchema, R>, 'body' | 'bodyFormat' | 'example'>,
    Answer {
  /**
   * Finds out who sent the body, where the operation is public; throws the refusal. The call is then its caller's: it
   * takes from the budget of the caller's owner, and one that is refused from its address's. So does one of `undefined`: it
   * comes from nobody, and is answered all the same.
   */
  readonly verify?: (request: UnverifiedRequest<P, Q>) => Promise<Caller>;
  readonly handler: (
    request: RequestContext<Caller> & RequestParts<P, Q, TSchema> & { readonly body: RawBody; readonly db: Db },
  ) => Promise<Reply<R> | EventStream>;
}

export interface SocketSpec<Caller, P extends TSchema, Q extends TSchema, Db>
  extends Omit<OperationFacts, 'method' | 'maxBodyBytes'>,
    Pick<Schemas<P, Q, TSchema, TSchema>, 'params' | 'query'> {
  readonly socket?: SocketRules;
  /** As an operation that takes bytes has it: finds out who asks for the connection, where the operation is public. */
  readonly verify?: (request: Omit<UnverifiedRequest<P, Q>, 'body'>) => Promise<Caller>;
  /** Runs before the upgrade: what it throws is answered over HTTP. The session has the connection to itself. */
  readonly handler: (
    request: RequestContext<Caller> & RequestParts<P, Q, TSchema> & { readonly db: Db },
  ) => Promise<SocketSession>;
}

/** The key that the caller sent, and a fingerprint of everything that must match for a replay. */
export interface IdempotencyClaim {
  readonly operation: string;
  readonly key: string;
  readonly fingerprint: string;
}

/** A request whose signature has been verified, and whose body has not been read. */
export interface EarlyRequest<Caller, Db> extends Pick<RequestContext<Caller>, 'caller' | 'headers'> {
  /** As they stand in the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly db: Db;
}

export interface TurnSpec<
  Caller,
  P extends TSchema,
  Q extends TSchema,
  B extends TSchema,
  R extends TSchema,
  Db,
  Ahead = undefined,
> extends OperationFacts,
    Schemas<P, Q, B, R>,
    Answer {
  /** Hands the claim of `Idempotency-Key` to the handler. Default: false. */
  readonly idempotent?: boolean;
  /**
   * Reads what the handler needs first, while the store is asked whether the token still stands: changes nothing, and is thrown
   * away where the call is refused. Undefined where the request does not say yet what to read.
   */
  readonly readAhead?: (request: EarlyRequest<Caller, Db>) => Promise<Ahead> | undefined;
  readonly handler: (
    request: RequestContext<Caller> &
      RequestParts<P, Q, B> & {
        readonly db: Db;
        readonly idempotency: IdempotencyClaim | undefined;
        readonly ahead: Promise<Ahead> | undefined;
      },
  ) => Promise<Reply<R> | EventStream>;
}

/** An operation as the kernel keeps it: the schemas erased, the handler taking whatever was validated. */
export interface Operation<Caller> extends OperationFacts, Answer {
  readonly kind: 'read' | 'change' | 'turn' | 'raw' | 'socket';
  readonly idempotent: boolean;
  readonly params: TSchema | undefined;
  readonly query: TSchema | undefined;
  readonly body: TSchema | undefined;
  readonly bodyFormat: BodyFormat;
  readonly example: unknown;
  readonly reply: TSchema | undefined;
  /** Present: the body is a form with files, and `body` is undefined. */
  readonly upload: Upload<Caller> | undefined;
  /** Present: the connection becomes a WebSocket. */
  readonly socket: SocketRules | undefined;
  /** Present: checks before the transaction. */
  readonly precheck: ((request: ErasedRequest<Caller>) => Promise<void>) | undefined;
  /** Present: makes something elsewhere before the transaction. */
  readonly prepare: Preparation<ErasedRequest<Caller>, unknown> | undefined;
  /** Present: reads while the token is asked about. */
  readonly readAhead: ((request: EarlyRequest<Caller, unknown>) => Promise<unknown> | undefined) | undefined;
  /** Present: finds out who the caller is from what it sent. */
  readonly verify: ((request: ErasedRequest<unknown>) => Promise<unknown>) | undefined;
  readonly handles: Handles<Caller, unknown, unknown>;
  readonly handle: (request: ErasedRequest<Caller>) => Promise<unknown>;
}

/** What handlers work on: the store itself, or what a service makes of it for a caller, such as one tenant's rows. */
export interface Handles<Caller, Db, Tx> {
  readonly db: (db: Database, caller: Caller) => Db;
  readonly tx: (tx: Transaction, caller: Caller) => Tx;
}

export interface ErasedRequest<Caller> extends RequestContext<Caller> {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  /** As the operation's `handles` make them. */
  readonly db: unknown;
  readonly tx: unknown;
  readonly idempotency: IdempotencyClaim | undefined;
  /** What `prepare` has made. */
  readonly prepared: unknown;
  /** What `readAhead` reads. */
  readonly ahead: Promise<unknown> | undefined;
  readonly file: StoredUpload | undefined;
  readonly files: readonly StoredUpload[];
}

const STORE: Handles<unknown, Database, Transaction> = { db: (db) => db, tx: (tx) => tx };

/** As `operationsWith`, with handlers that work on the store itself. */
export function operationsFor<Caller>() {
  return operationsWith<Caller, Database, Transaction>(STORE);
}

/** The six ways to define an operation, bound to one service's idea of a caller. */
export function operationsWith<Caller, Db, Tx>(handles: Handles<Caller, Db, Tx>) {
  const erase = (...spec: Parameters<typeof eraseTypes<Caller>>) => ({ ...eraseTypes<Caller>(...spec), handles });
  return {
    /** Reads; no transaction. */
    read<P extends TSchema, Q extends TSchema, B extends TSchema, R extends TSchema>(
      spec: ReadSpec<Caller, P, Q, B, R, Db>,
    ): Operation<Caller> {
      return erase(spec, 'read', false, (request) => spec.handler(request as never));
    },
    /** Changes; the handler runs inside one transaction, the stored idempotent answer in it too. */
    change<P extends TSchema, Q extends TSchema, B extends TSchema, R extends TSchema, Prepared = undefined>(
      spec: ChangeSpec<Caller, P, Q, B, R, Tx, Prepared>,
    ): Operation<Caller> {
      const { precheck, prepare, ...rest } = spec;
      const isIdempotent = spec.idempotent ?? (spec.method === 'POST' && spec.answers === undefined);
      const erased = erase(rest, 'change', isIdempotent, (request) => spec.handler(request as never));
      return {
        ...erased,
        ...(precheck !== undefined && { precheck: (request) => precheck(request as never) }),
        // What `make` has made comes back: the type ties both ends.
        ...(prepare !== undefined && { prepare: prepare as unknown as Preparation<ErasedRequest<Caller>, unknown> }),
      };
    },
    /** A change whose body is a form with files, each stored while it arrives, before the transaction. */
    upload<
      P extends TSchema,
      Q extends TSchema,
      B extends TSchema,
      R extends TSchema,
      Part extends StoredUpload,
      Stored extends StoredUpload = Part,
    >(spec: UploadSpec<Caller, P, Q, B, R, Part, Stored, Tx>): Operation<Caller> {
      const { upload, fields, ...rest } = spec;
      const erased = erase(rest, 'change', spec.idempotent ?? true, (request) => spec.handler(request as never));
      // What the target stored comes back to it: the type ties both ends.
      return { ...erased, bodyFormat: 'files', upload: { ...(upload as unknown as UploadTarget<Caller>), fields } };
    },
    /** Takes the body as it comes, of any type, and keeps its own account of repetitions. No transaction. */
    raw<P extends TSchema, Q extends TSchema, R extends TSchema>(
      spec: RawSpec<Caller, P, Q, R, Db>,
    ): Operation<Caller> {
      const { verify, ...rest } = spec;
      const erased = erase(rest, 'raw', false, (request) => spec.handler(request as never));
      return {
        ...erased,
        bodyFormat: 'raw',
        ...(verify === undefined ? {} : { verify: (request) => verify(request as never) }),
      };
    },
    /** Becomes a WebSocket, once every check has passed. */
    socket<P extends TSchema, Q extends TSchema>(spec: SocketSpec<Caller, P, Q, Db>): Operation<Caller> {
      const { socket = {}, verify, ...rest } = spec;
      const erased = erase({ ...rest, method: 'GET' }, 'socket', false, (request) => spec.handler(request as never));
      return { ...erased, socket, ...(verify !== undefined && { verify: (request) => verify(request as never) }) };
    },
    /** Outlives any transaction (a turn, a stream); keeps its own account of idempotency. */
    turn<P extends TSchema, Q extends TSchema, B extends TSchema, R extends TSchema, Ahead = undefined>(
      spec: TurnSpec<Caller, P, Q, B, R, Db, Ahead>,
    ): Operation<Caller> {
      const { readAhead, ...rest } = spec;
      const erased = erase(rest, 'turn', spec.idempotent ?? false, (request) => spec.handler(request as never));
      return { ...erased, ...(readAhead !== undefined && { readAhead: (request) => readAhead(request as never) }) };
    },
  };
}

function eraseTypes<Caller>(
  spec: OperationFacts & Answer & Schemas<TSchema, TSchema, TSchema, TSchema>,
  kind: Operation<Caller>['kind'],
  idempotent: boolean,
  handle: Operation<Caller>['handle'],
): Omit<Operation<Caller>, 'handles'> {
  const { params, query, body, bodyFormat = 'json', example, reply } = spec;
  const none = {
    upload: undefined,
    socket: undefined,
    precheck: undefined,
    prepare: undefined,
    readAhead: undefined,
    verify: undefined,
  };
  return { ...spec, ...none, kind, idempotent, params, query, body, bodyFormat, example, reply, handle };
}
