/**
 * Forms with files (`multipart/form-data`), or bodies that are a file themselves. A file's bytes go where the operation
 * wants them while they arrive: nothing here holds more than a few buffers, whatever the size. Fields may stand before,
 * between or behind the files.
 *
 *   parts arrive ─▶ files stored ─▶ form complete ─▶ fields validated ─▶ Idempotency-Key, transaction, handler
 *                       └────────────── refused, or answered from an earlier request ──────────▶ all discarded
 */
import { PassThrough, type Readable } from 'node:stream';
import multipart, { type MultipartFile, type MultipartValue } from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { ApiError } from './errors.ts';
import { parseJsonText, refusalOfEncoding } from './json-body.ts';
import { dropRest, UploadWatch } from './upload-watch.ts';
import { refusalOf } from './validation.ts';

export const MAX_FIELDS = 32;
export const MAX_FIELD_BYTES = 16 * 1024;
const MAX_FIELD_DEPTH = 100;
const MAX_PARTS = 48;
const MAX_HEADERS_PER_PART = 32;
/** What a form may hold beside its file: the fields, the parts' headers, the boundaries. */
const MAX_FORM_OVERHEAD_BYTES = 1024 * 1024;

/** The file of a form, while it arrives. */
export interface FilePart {
  /** As the sender wrote it: not to be trusted as a path, perhaps empty. Its folders are cut off unless the target keeps them. */
  readonly filename: string;
  /** As the sender wrote it, lower-cased, without parameters. */
  readonly mediaType: string;
  /** Throws ApiError when the upload grows too large, breaks off or falls silent. Read it once, to its end. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** What the store of a file must say of it: the content is part of what an `Idempotency-Key` stands for. */
export interface StoredUpload {
  /** Of the whole content, in hexadecimal. */
  readonly sha256: string;
}

/** Where an operation's uploads go. A target that combines files stores `Part`s, and makes one `Stored` of them. */
export interface UploadTarget<Caller, Part extends StoredUpload = StoredUpload, Stored extends StoredUpload = Part> {
  /** The form's name for the file; where it takes several, each has this name, or this name with `[]`. */
  readonly field: string;
  /** Another name for the same. */
  readonly alsoField?: string;
  /** A body of this media type is the file itself, without a form and without fields. */
  readonly bareType?: string;
  /** Names of files come with their folders. */
  readonly keepsFolders?: boolean;
  /** Of one file. */
  readonly maxBytes: number;
  /** How many files a form may hold; it must hold one. Default 1. */
  readonly maxFiles?: number;
  /** Of all files together. Default: `maxFiles` times `maxBytes`. */
  readonly maxTotalBytes?: number;
  /** Of one field of text, where it may be larger than MAX_FIELD_BYTES. */
  readonly maxFieldBytes?: number;
  /**
   * The fields whose text is JSON; one that is not JSON stays text, for the schema to take or to refuse. With these the
   * fields are validated as a body is: nothing becomes another type.
   */
  readonly jsonFields?: readonly string[];
  /** Keeps the bytes while they arrive. What it keeps counts for nothing until the handler's transaction commits. */
  store(caller: Caller, part: FilePart): Promise<Part>;
  /**
   * Makes one of the files of a form that is whole and valid, before the transaction; the handler gets that. The files
   * themselves are then the target's to drop; when it throws they are discarded.
   */
  combine?(caller: Caller, parts: readonly Part[]): Promise<Stored>;
  /** Removes what was stored: the request was refused after all, or has been answered before. */
  discard(caller: Caller, stored: Stored | Part): Promise<void>;
}

/** A target as the kernel keeps it, with the schema of the form's fields. */
export interface Upload<Caller> extends UploadTarget<Caller> {
  readonly fields: TSchema;
}

/** A form that arrived whole. */
export interface ReceivedForm {
  /** As their schema has them; of several with one name the last. */
  readonly fields: Record<string, unknown>;
  /** At least one, in the order in which they came. */
  readonly files: readonly StoredUpload[];
  /** Everything that must match for a replay. */
  readonly fingerprinted: unknown;
}

/** Makes forms the only bodies that the routes of this scope read; each handler reads its own. */
export async function acceptFormsOnly(app: FastifyInstance): Promise<void> {
  app.removeAllContentTypeParsers();
  await app.register(multipart, {
    throwFileSizeLimit: false,
    limits: {
      fields: MAX_FIELDS,
      fieldSize: MAX_FIELD_BYTES,
      parts: MAX_PARTS,
      headerPairs: MAX_HEADERS_PER_PART,
      // The bytes are counted where they are handed on.
      fileSize: Number.POSITIVE_INFINITY,
    },
  });
}

/**
 * Reads the request's form to its end; the file is stored by then. Throws `invalid_request` for a form that is broken,
 * lacks the file or has other files, and `payload_too_large`; whatever `store` throws passes. After a refusal nothing
 * stays stored, and what the sender still sends is read and dropped, so that it gets to read the answer.
 */
export async function receiveForm<Caller>(
  request: FastifyRequest,
  caller: Caller,
  upload: Upload<Caller>,
  discard: (stored: StoredUpload) => Promise<void>,
): Promise<ReceivedForm> {
  try {
    const isBare = isBareFile(request, upload);
    refuseUnread(request, upload, isBare);
    return await readWatched(request, caller, upload, discard, isBare);
  } finally {
    dropRest(request.raw);
  }
}

async function readWatched<Caller>(
  request: FastifyRequest,
  caller: Caller,
  upload: Upload<Caller>,
  discard: (stored: StoredUpload) => Promise<void>,
  isBare: boolean,
): Promise<ReceivedForm> {
  const watch = new UploadWatch(request.raw, {
    maxBytes: maxTotalBytes(upload) + MAX_FORM_OVERHEAD_BYTES,
    tooLarge: () => ((upload.maxFiles ?? 1) === 1 ? tooLarge(upload) : tooLargeTogether(upload)),
  });
  const form = new FormReader(caller, upload, watch);
  try {
    const received = isBare
      ? await form.readBare(request.raw, upload.bareType ?? '')
      : await form.read(request.parts(partsOptions(upload)));
    checkFields(request, upload, received.fields);
    if (upload.combine === undefined) return received;
    return { ...received, files: [await upload.combine(caller, received.files)] };
  } catch (error) {
    for (const stored of form.stored) await discard(stored);
    throw error;
  } finally {
    watch.end();
  }
}

function partsOptions<Caller>(upload: Upload<Caller>) {
  const { maxFiles = 1, keepsFolders = false } = upload;
  return { preservePath: keepsFolders, limits: { parts: MAX_PARTS + maxFiles - 1, fieldSize: maxFieldBytes(upload) } };
}

function maxFieldBytes<Caller>({ maxFieldBytes: bytes = MAX_FIELD_BYTES }: Upload<Caller>): number {
  return bytes;
}

/** Whether the body is the file itself. */
function isBareFile<Caller>(request: FastifyRequest, { bareType }: Upload<Caller>): boolean {
  if (bareType === undefined) return false;
  return (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() === bareType;
}

/** Refuses what can be seen to be wrong before a byte of the body has been read. */
function refuseUnread<Caller>(request: FastifyRequest, upload: Upload<Caller>, isBare: boolean): void {
  if (!isBare && !request.isMultipart()) throw noForm(upload.field);
  const refusal = refusalOfEncoding(request);
  if (refusal !== undefined) throw refusal;
  if (Number(request.headers['content-length'] ?? 0) > maxTotalBytes(upload) + MAX_FORM_OVERHEAD_BYTES) {
    throw tooLarge(upload);
  }
}

function maxTotalBytes<Caller>({ maxBytes, maxFiles = 1, maxTotalBytes: total }: Upload<Caller>): number {
  return total ?? maxBytes * maxFiles;
}

/** Fields are text, like a query's, unless some are JSON. */
function checkFields<Caller>(
  request: FastifyRequest,
  { fields: schema, jsonFields }: Upload<Caller>,
  fields: Record<string, unknown>,
): void {
  const validate = request.compileValidationSchema(schema, jsonFields === undefined ? 'querystring' : 'body');
  if (!validate(fields)) throw refusalOf(validate.errors as never, 'body');
}

class FormReader<Caller> {
  readonly #caller: Caller;
  readonly #upload: Upload<Caller>;
  readonly #watch: UploadWatch;
  readonly #fields = new Map<string, unknown>();
  readonly #sent: { readonly filename: string; readonly mediaType: string; readonly sha256: string }[] = [];
  readonly stored: StoredUpload[] = [];
  #totalBytes = 0;

  constructor(caller: Caller, upload: Upload<Caller>, watch: UploadWatch) {
    this.#caller = caller;
    this.#upload = upload;
    this.#watch = watch;
  }

  async read(parts: AsyncIterableIterator<MultipartFile | MultipartValue>): Promise<ReceivedForm> {
    for (;;) {
      const { value: part, done } = await this.#watch.orBroken(parts.next()).catch((error: unknown) => {
        throw asRefusal(error);
      });
      if (done === true) break;
      if (part.type === 'file') await this.#readFile(part);
      else this.#readField(part);
    }
    const { field } = this.#upload;
    if (this.stored.length === 0) {
      const isText = this.#fields.has(field);
      const message = isText ? `\`${field}\` must be a file: give its part a filename.` : `\`${field}\` is required.`;
      throw new ApiError('invalid_request', { param: field, message });
    }
    const fields = Object.fromEntries(this.#fields);
    return { fields, files: this.stored, fingerprinted: { fields, files: this.#sent } };
  }

  /** The body as the one file. */
  async readBare(body: Readable, mediaType: string): Promise<ReceivedForm> {
    // Listened to by the watch the body flows at once, whether or not anybody has begun to read it.
    const file = body.pipe(new PassThrough());
    const unhook = this.#watch.onBroken((error) => file.destroy(error));
    const onClose = () => {
      if (!body.readableEnded) file.destroy(new Error('premature close'));
    };
    body.once('close', onClose);
    try {
      const bytes = this.#count(file);
      const stored = await this.#upload.store(this.#caller, { filename: '', mediaType, bytes });
      this.stored.push(stored);
      return { fields: {}, files: this.stored, fingerprinted: { fields: {}, files: [{ sha256: stored.sha256 }] } };
    } finally {
      unhook();
      body.off('close', onClose);
      if (!file.readableEnded) file.destroy();
    }
  }

  #readField({ fieldname, value: sent, valueTruncated }: MultipartValue): void {
    if (valueTruncated) {
      throw new ApiError('invalid_request', {
        param: fieldname,
        message: `\`${fieldname}\` must have at most ${maxFieldBytes(this.#upload)} bytes.`,
      });
    }
    const isJson = typeof sent === 'string' && this.#upload.jsonFields?.includes(fieldname) === true;
    const value = isJson ? parseIfJson(sent) : sent;
    // A part that says that it is JSON comes parsed.
    if (nestsDeeper(value, MAX_FIELD_DEPTH)) {
      throw new ApiError('invalid_request', {
        param: fieldname,
        message: `\`${fieldname}\` nests deeper than ${MAX_FIELD_DEPTH} levels.`,
      });
    }
    this.#fields.set(fieldname, value);
  }

  async #readFile(part: MultipartFile): Promise<void> {
    const { field, maxFiles = 1 } = this.#upload;
    const isNamed = namesOfFile(this.#upload).includes(part.fieldname);
    if (!isNamed || this.stored.length === maxFiles) {
      part.file.destroy();
      const many = maxFiles === 1 ? 'one file a request' : `at most ${maxFiles} files a request`;
      throw new ApiError('invalid_request', { param: field, message: `Send ${many}, as \`${field}\`.` });
    }
    const { filename = '', mimetype: mediaType } = part as { filename?: string; mimetype: string };
    const unhook = this.#watch.onBroken((error) => part.file.destroy(error));
    try {
      const bytes = this.#count(part.file);
      const stored = await this.#upload.store(this.#caller, { filename, mediaType, bytes });
      this.stored.push(stored);
      this.#sent.push({ filename, mediaType, sha256: stored.sha256 });
    } finally {
      unhook();
      // Whoever stores may have given up before the end.
      if (!part.file.readableEnded) part.file.destroy();
    }
  }

  async *#count(stream: Readable): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    try {
      for await (const chunk of stream) {
        bytes += (chunk as Uint8Array).byteLength;
        this.#totalBytes += (chunk as Uint8Array).byteLength;
        if (bytes > this.#upload.maxBytes) throw tooLarge(this.#upload);
        if (this.#totalBytes > maxTotalBytes(this.#upload)) throw tooLargeTogether(this.#upload);
        yield chunk as Uint8Array;
      }
    } catch (error) {
      throw asRefusal(error);
    }
  }
}

/** What the part of a file may be called. */
function namesOfFile<Caller>({ field, alsoField, maxFiles = 1 }: Upload<Caller>): string[] {
  const names = alsoField === undefined ? [field] : [field, alsoField];
  return maxFiles === 1 ? names : [...names, ...names.map((name) => `${name}[]`)];
}

function parseIfJson(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch {
    return text;
  }
}

/** Level by level: whatever calls itself gives up at a depth that so few bytes have. */
function nestsDeeper(value: unknown, levels: number): boolean {
  let level = [value];
  for (let depth = 0; depth <= levels; depth += 1) {
    level = level
      .filter((one) => one !== null && typeof one === 'object')
      .flatMap((one) => Object.values(one as object));
    if (level.length === 0) return false;
  }
  return true;
}

function tooLarge<Caller>({ field, maxBytes }: Upload<Caller>): ApiError {
  return new ApiError('payload_too_large', { param: field, message: `The file is larger than ${maxBytes} bytes.` });
}

function tooLargeTogether<Caller>(upload: Upload<Caller>): ApiError {
  const message = `The files are larger than ${maxTotalBytes(upload)} bytes together.`;
  return new ApiError('payload_too_large', { param: upload.field, message });
}

/** The refusal of a body that is no form. */
export function noForm(field: string): ApiError {
  const message = `Send the body as multipart/form-data, with the content as the file \`${field}\`.`;
  return new ApiError('invalid_request', { message, param: 'Content-Type' });
}

/** What the parser of forms throws, by its codes; every other error of it is a form that does not parse. */
function asRefusal(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const { code, message } = error as { code?: string; message: string };
  switch (code) {
    case 'FST_PARTS_LIMIT':
    case 'FST_FIELDS_LIMIT':
      return new ApiError('invalid_request', {
        message: `The form has too many parts: send at most ${MAX_FIELDS} fields beside the file.`,
      });
    case 'FST_PROTO_VIOLATION':
      return new ApiError('invalid_request', { message: 'A field has a name that is reserved. Leave it out.' });
    case 'FST_INVALID_JSON_FIELD_ERROR':
      return new ApiError('invalid_request', { message: 'A field that is announced as JSON is none.' });
    default:
      break;
  }
  const reason = /unexpected end|terminated early|premature/i.test(message)
    ? 'The upload broke off before the closing boundary of its form. Send it again, whole.'
    : 'The form could not be read: check its boundary and the headers of its parts.';
  return new ApiError('invalid_request', { message: reason, cause: error });
}
