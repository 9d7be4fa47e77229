/** The error catalogue, the contract's closed list of codes, and the page for users say the same. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { ErrorEntry, ErrorType } from '../../src/kernel/http/errors.ts';
import { platformErrors } from '../../src/platform/errors.ts';

interface DocumentedError {
  readonly code: string;
  readonly status: number;
  readonly type: string;
  readonly advice: string;
}

/** The contract's list, one code a line, in its order. */
const contractCodes = readLines('./error-codes.txt');
const documented = readLines('../../docs/errors.md').flatMap(readRow);
const catalogue: readonly (readonly [string, ErrorEntry])[] = Object.entries(platformErrors);

/** Statuses that the contract itself gives. */
const contractStatuses: Readonly<Record<string, number>> = {
  conversation_locked: 400,
  card_required: 402,
  insufficient_credits: 402,
  budget_exceeded: 402,
  smith_mismatch: 403,
  tenant_token_required: 403,
  admin_required: 403,
  organization_required: 403,
  insufficient_scope: 403,
  not_found: 404,
  invalid_request: 422,
  permissions_required: 422,
  invalid_url: 422,
  rate_limit_exceeded: 429,
  concurrency_limit_exceeded: 429,
  service_overloaded: 503,
};

test('the catalogue holds exactly the codes of the contract', () => {
  assert.deepEqual(catalogue.map(([code]) => code).sort(), [...contractCodes].sort());
});

test('a status that the contract gives is the catalogue’s', () => {
  const statuses = new Map(catalogue.map(([code, entry]) => [code, entry.status]));
  for (const [code, status] of Object.entries(contractStatuses)) assert.equal(statuses.get(code), status, code);
});

test('the type of an error follows from its status', () => {
  for (const [code, entry] of catalogue) assert.equal(entry.type, typeOf(entry.status), code);
});

test('every default message says what happened and what to do, in whole sentences', () => {
  for (const [code, entry] of catalogue) assert.match(entry.message, /^[A-Z`].+\. [A-Z`].+\.$/, code);
});

test('docs/errors.md has one row for each code, with its status, type and default message', () => {
  const rows = documented.map(({ code, status, type }) => ({ code, status, type }));
  const expected = catalogue.map(([code, { status, type }]) => ({ code, status, type }));
  assert.deepEqual(rows.sort(byCode), expected.sort(byCode));
  const advice = new Map(documented.map((row) => [row.code, row.advice]));
  for (const [code, { message }] of catalogue) {
    assert.ok(advice.get(code)?.endsWith(message), `The row of ${code} must end with: ${message}`);
  }
});

function readLines(path: string): string[] {
  return readFileSync(new URL(path, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '');
}

/** A row of the code tables: code, status, type, advice. Other lines, and rows of other tables, give none. */
function readRow(line: string): DocumentedError[] {
  const cells = /^\| `([a-z_]+)` \| (\d{3}) \| `([a-z_]+)` \| (.+) \|$/.exec(line);
  if (cells === null) return [];
  const [, code = '', status = '', type = '', advice = ''] = cells;
  return [{ code, status: Number(status), type, advice }];
}

function typeOf(status: number): ErrorType {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'api_error' : 'invalid_request_error';
}

function byCode(a: { readonly code: string }, b: { readonly code: string }): number {
  return a.code.localeCompare(b.code);
}
