/** Sends cases of this folder, each as a test of its own, and says whether the answer is right. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import pLimit from 'p-limit';
import type { DocumentCase, HttpAbuse, PatternCase, SchemaCase, SchemaPlace } from './cases.ts';
import { SCHEMA_PLACES } from './cases.ts';
import { aimAt, type Gate, indexDocument, sendSchema, type Tenant } from './tenants.ts';

const SHED = 'service_overloaded';
const TRIES = 20;

interface Named {
  readonly name: string;
}

/** A case that was sent, by `performance.now()`. */
export interface Sent extends Named {
  readonly fromMs: number;
  readonly toMs: number;
  again(): Promise<void>;
}

/** Each case is a test of its own, run on the first lane that is free, and is noted in `sent`. */
export async function runCases<Case extends Named>(
  t: TestContext,
  sent: Sent[],
  cases: readonly Case[],
  lanes: readonly Tenant[],
  run: (case_: Case, tenant: Tenant) => Promise<void>,
): Promise<void> {
  assert.equal(new Set(cases.map(({ name }) => name)).size, cases.length, 'names are unique');
  const free = [...lanes];
  const limit = pLimit(lanes.length);
  const runNext = async (case_: Case): Promise<void> => {
    const lane = free.pop() ?? assert.fail('there is a lane for each');
    const fromMs = performance.now();
    try {
      await run(case_, lane);
    } finally {
      free.push(lane);
      sent.push({ name: case_.name, fromMs, toMs: performance.now(), again: () => limit(() => runNext(case_)) });
    }
  };
  await Promise.all(cases.map((case_) => limit(() => t.test(case_.name, () => runNext(case_)))));
}

export async function assertSchema(tenant: Tenant, case_: SchemaCase, place: SchemaPlace): Promise<void> {
  const { answer, turn } = await sendSchema(tenant, case_, place);
  const told = `${answer.status} ${turn ?? ''} ${answer.text.slice(0, 300)}`;
  const { status, body } = answer;
  assert.ok(status < 300 || status === 422, told);
  if (status === 422) {
    const code = place === 'tool parameters' ? 'invalid_request' : 'invalid_response_format';
    assert.equal(body.error.code, case_.code ?? code, told);
    if (case_.message !== undefined) assert.match(body.error.message, case_.message);
  }
  if (case_.answer === 'either') return;
  const outcome = status === 422 ? 'refused' : turn === 'failed' || turn === 'incomplete' ? 'failed' : 'accepted';
  assert.equal(outcome, case_.answer, told);
}

/** One of the places that take formats of answers, by turns, and the others. */
export function choosePlaces({ places = SCHEMA_PLACES }: SchemaCase, index: number): readonly SchemaPlace[] {
  const left: SchemaPlace = index % 2 === 0 ? 'response_format' : 'text.format';
  return places.length === 1 ? places : places.filter((place) => place !== left);
}

/** A pattern on its way: in the schema of an object with one member. */
export function asSchema({ name, pattern, keyword = 'pattern', value, answer, places }: PatternCase): SchemaCase {
  const base = { name: `pattern: ${name}`, answer, ...(places === undefined ? {} : { places }) };
  if (keyword === 'patternProperties') {
    return {
      ...base,
      schema: () => ({ type: 'object', patternProperties: { [pattern]: { type: 'string' } } }),
      args: () => (value === undefined ? {} : { [value()]: 'x' }),
    };
  }
  return {
    ...base,
    schema: () => ({ type: 'object', properties: { value: { type: 'string', pattern } }, required: ['value'] }),
    args: () => ({ value: value?.() ?? '' }),
  };
}

export async function assertDocument(tenant: Tenant, document: DocumentCase): Promise<void> {
  const { answer, message, tookMs } = await indexDocument(tenant, document);
  const right = [document.answer].flat();
  const told = `${answer} after ${Math.round(tookMs)} ms: ${message}`;
  assert.ok(
    right.some((one) => one === answer),
    `${told}, and not ${right.join(' or ')}`,
  );
}

export async function assertAbuse(abuse: HttpAbuse, gate: Gate, tenant: Tenant, pid: number): Promise<void> {
  const { status, code, closed } = abuse.answer;
  const target = aimAt(tenant, gate, pid);
  let outcome = await abuse.perform(target);
  // A server on a machine without a processor to spare may shed load, which says nothing of what was sent.
  const isMeant = [code].flat().some((one) => one === SHED);
  // And what closes a connection in the midst of what comes may overtake the answer that it sent before.
  const isLost = () => status !== undefined && outcome.status === undefined && outcome.closed === true;
  for (let again = 0; again < TRIES && ((outcome.code === SHED && !isMeant) || isLost()); again += 1)
    outcome = await abuse.perform(target);
  const told = JSON.stringify(outcome);
  if (status !== undefined)
    assert.ok(
      [status].flat().some((one) => one === outcome.status),
      told,
    );
  if (code !== undefined)
    assert.ok(
      [code].flat().some((one) => one === outcome.code),
      told,
    );
  if (closed !== undefined) assert.equal(outcome.closed, closed, told);
}

export function pick<T>(items: readonly T[], index: number): T {
  return items[index % items.length] ?? assert.fail('there is nothing to pick from');
}
