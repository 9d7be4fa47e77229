/** What every error answer has in common, whoever gives it. */
import assert from 'node:assert/strict';
import { platformErrors } from '../../src/platform/errors.ts';
import type { Answer } from '../support/platform.ts';

const catalogue: Readonly<Record<string, { readonly status: number; readonly type: string }>> = platformErrors;

/** The headers that say what is left of a budget: the two of the IETF draft, and those of OpenAI's clients. */
const QUOTA_HEADERS = [
  'ratelimit',
  'ratelimit-policy',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
] as const;

/** Fails unless the answer is this refusal, in the contract's envelope, with the headers that every answer has. */
export function assertRefusal(answer: Answer, status: number, code: string, param?: string | null): void {
  assert.equal(`${answer.status} ${answer.body?.error?.code}`, `${status} ${code}`, answer.text);
  if (param !== undefined) assert.equal(answer.body.error.param, param, answer.text);
  assertEnvelope(answer);
  assertCommonHeaders(answer);
}

/** Fails unless the body is the error envelope, with a code and a type that belong to the status. */
export function assertEnvelope(answer: Answer): void {
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/, `no JSON: ${answer.text.slice(0, 200)}`);
  const { error, ...beside } = answer.body;
  // OTLP has a status of its own beside the envelope, which says the same.
  if ('code' in beside) assert.deepEqual(beside, { code: beside.code, message: error.message }, answer.text);
  else assert.deepEqual(beside, {}, answer.text);
  const { message, type, param, code, details, ...others } = answer.body.error;
  assert.deepEqual(others, {}, answer.text);
  assert.equal(typeof message, 'string', answer.text);
  assert.notEqual(message, '', answer.text);
  assert.ok(param === null || typeof param === 'string', answer.text);
  const entry = catalogue[code];
  assert.ok(entry, `not a code of the catalogue: ${answer.text}`);
  // HTTP itself demands 416 of a range that cannot be had and 405 of a method that leads nowhere, and OTLP 400 of what cannot be decoded; no code of the contract says so.
  const isInvalid = code === 'invalid_request';
  const isUndecoded = isInvalid && 'code' in beside && answer.status === 400;
  const isOtherMethod = isInvalid && answer.headers.get('allow') !== null;
  const status = isInvalid && param === 'Range' ? 416 : isUndecoded ? 400 : isOtherMethod ? 405 : entry.status;
  assert.deepEqual({ status: answer.status, type }, { status, type: entry.type }, answer.text);
  if (details !== undefined) assert.equal(typeof details, 'object', answer.text);
}

/** Fails unless the answer carries the headers that every answer of `/v1` does. */
export function assertCommonHeaders({ headers }: Pick<Answer, 'headers'>): void {
  assertServerHeaders({ headers });
  assert.equal(headers.get('access-control-allow-origin'), '*');
  assert.equal(headers.get('access-control-expose-headers'), '*');
  assert.equal(headers.get('access-control-allow-credentials'), null);
}

/** Fails unless the answer carries the headers that every answer of the server does: pages and broken HTTP included. */
export function assertServerHeaders({ headers }: Pick<Answer, 'headers'>): void {
  assert.match(headers.get('x-request-id') ?? '', /^[\w.:-]{1,128}$/);
  assert.equal(headers.get('ic-api-version'), '2026-05-01');
  for (const name of QUOTA_HEADERS) assert.notEqual(headers.get(name), null, `no ${name} header`);
}
