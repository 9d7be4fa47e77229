/**
 * One server takes every case of this folder, many at once, from several projects: it gives each the answer that is right,
 * its event loop is never held up, its memory comes back, and its process lives to the end.
 *
 * On a busy machine much piles up while the server has no processor, and is done at once when it gets one: many short pieces of
 * work, one after the other. So a late answer is no verdict: what was under way then is sent again, all of it at once, and where
 * that is late again each of it alone, which tells what holds the event loop up by itself.
 *
 * A schema goes to one of the two places that take formats of answers, which share all of their way, and to the parameters
 * of a tool. Text of documents is embedded by a model server of this test, but for what `builtin/embed` may stumble over.
 *
 * With the other tests it takes every third document and request, which are the most; IRONCRAFT_HOSTILE_EVERY=1 takes them all.
 */
import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import pLimit from 'p-limit';
import type { ServerProcess } from '../boot/server-process.ts';
import { type OpenAiUpstream, startOpenAiUpstream } from '../fakes/openai-upstream.ts';
import { NEEDS_NO_SERVER, NEEDS_SERVER, openFleet } from '../faults/fleet.ts';
import { eventually } from '../support/turns.ts';
import type { DocumentCase, HttpAbuse, PatternCase, SchemaCase, SchemaPlace } from './cases.ts';
import { SCHEMA_PLACES } from './cases.ts';
import { documents } from './documents.ts';
import type { Gap } from './health-probe.ts';
import { abuseEnvironment, httpAbuses } from './http-abuses.ts';
import { patterns } from './patterns.ts';
import { schemas } from './schemas.ts';
import { aimAt, type Gate, indexDocument, openTenant, sendSchema, type Tenant } from './tenants.ts';
import { warmUp, warmUpWithLarge } from './warm-up.ts';
import { describeGap, residentBytes, type ServerWatch, watchServer } from './watch-server.ts';

/** Of documents and requests, one in so many is taken. */
const ONE_IN = Number(process.env.IRONCRAFT_HOSTILE_EVERY ?? 3);
const chosenDocuments = documents.filter((_, index) => index % ONE_IN === 0);
const chosenAbuses = httpAbuses.filter((_, index) => index % ONE_IN === 0);

const MEBIBYTE = 1_048_576;
/** The default is five times as long, and shown by a test of its own (read-limits.test.ts). */
const readerEnvironment = { IRONCRAFT_READ_SECONDS: '2' };
const MAX_GAP_MS = 100;
/** How often a case that is alone must be late: code that runs for the first time, or garbage, may be met once. */
const TRIES_ALONE = 3;
/** Between the clocks of the probe and of this process, and between the end of a case and what it leaves behind. */
const AROUND_MS = 250;
const MAX_MEMORY_GROWTH = 50 * MEBIBYTE;

const SHED = 'service_overloaded';
const TRIES = 20;
/** A smith has one turn at a time, so each of these has a smith, in a project of its own. */
const TURNS_AT_ONCE = 6;
const DOCUMENTS_AT_ONCE = 12;
const DOCUMENT_PROJECTS = 4;
const LARGE_AT_ONCE = 2;
const ABUSES_AT_ONCE = 16;

for (const [store, skip] of [
  ['embedded', NEEDS_NO_SERVER],
  ['server', NEEDS_SERVER],
] as const) {
  describe(`everything that a caller may send, at a server on the ${store} store`, { skip }, () => {
    const cleanups: (() => Promise<void>)[] = [];
    let modelServer: OpenAiUpstream;
    const turnTenants: Tenant[] = [];
    const documentTenants: Tenant[] = [];
    let server: ServerProcess;
    let gate: Gate;
    let watch: ServerWatch;
    let watchedSinceMs = 0;
    const sent: Sent[] = [];
    let warmBytes = 0;

    before(async () => {
      const cleanup = { after: (work: () => Promise<void>) => void cleanups.push(work) };
      const fleet = await openFleet(cleanup, {
        store,
        only: 'platform',
        variables: { ...abuseEnvironment, ...readerEnvironment },
      });
      server = await fleet.start();
      gate = { url: server.url, organization: fleet.organization(server) };
      modelServer = await startOpenAiUpstream();
      cleanups.push(() => modelServer.close());
      modelServer.respondWith({ type: 'embeddings' });
      for (let made = 0; made < TURNS_AT_ONCE; made += 1) turnTenants.push(await openTenant(gate, `Turns ${made}`));
      for (let made = 0; made < DOCUMENT_PROJECTS; made += 1) {
        documentTenants.push(await openTenant(gate, `Documents ${made}`, modelServer.url));
      }
      await warmUp([...turnTenants, ...documentTenants]);
      await warmUpWithLarge(documentTenants.slice(0, LARGE_AT_ONCE));
      warmBytes = residentBytes(server.pid);
      watch = await watchServer({ url: server.url, pid: server.pid });
      watchedSinceMs = performance.now();
    });
    after(async () => {
      for (const work of cleanups.reverse()) await work();
    });

    /** The longest that the event loop was held up while this was done, unless that is short. */
    async function lateDuring(work: () => Promise<unknown>): Promise<Gap | undefined> {
      const probe = await watchServer({ url: server.url, pid: server.pid });
      await work();
      const { gaps } = await probe.stop();
      return gaps.find(({ ownMs }) => ownMs > MAX_GAP_MS);
    }

    /** Sends what was under way at this gap again: nobody is late, or no case is by itself. */
    async function assertHarmless(t: TestContext, gap: Gap): Promise<void> {
      const fromMs = watchedSinceMs + gap.atMs - AROUND_MS;
      const toMs = watchedSinceMs + gap.atMs + gap.gapMs + AROUND_MS;
      const suspects = sent.filter((one) => one.fromMs < toMs && one.toMs > fromMs);
      const together = await lateDuring(() => Promise.all(suspects.map((one) => one.again())));
      if (together === undefined) return;
      t.diagnostic(`late again: ${describeGap(together)}; each of ${suspects.length} is sent alone`);
      for (const { name, again } of suspects) {
        const told: string[] = [];
        for (let late = await lateDuring(again); late !== undefined; late = await lateDuring(again)) {
          told.push(describeGap(late));
          assert.ok(told.length < TRIES_ALONE, `${name}, alone: ${told.join(', and again ')}`);
        }
      }
    }

    describe('all at once', { concurrency: true }, () => {
      test('schemas and patterns', async (t) => {
        const turns = [...schemas, ...patterns.map(asSchema)].flatMap((case_, index) =>
          choosePlaces(case_, index).map((place) => ({ name: `${case_.name}, as ${place}`, case_, place })),
        );
        await runCases(t, sent, turns, turnTenants, ({ case_, place }, tenant) => assertSchema(tenant, case_, place));
      });

      test('documents', async (t) => {
        const lanes = Array.from({ length: DOCUMENTS_AT_ONCE }, (_, lane) => pick(documentTenants, lane));
        await runCases(t, sent, chosenDocuments, lanes, (document, tenant) => assertDocument(tenant, document));
      });

      test('requests', async (t) => {
        const tenant = await openTenant(gate, 'Requests');
        const lanes = Array.from({ length: ABUSES_AT_ONCE }, () => tenant);
        await runCases(t, sent, chosenAbuses, lanes, (abuse) => assertAbuse(abuse, gate, tenant, server.pid));
      });
    });

    test('there are as many of each kind as have ever been thought of', (t) => {
      const counts = { schemas, patterns, documents: chosenDocuments, requests: chosenAbuses };
      for (const [kind, cases] of Object.entries(counts)) t.diagnostic(`${cases.length} ${kind}`);
      assert.ok(schemas.length >= 80 && patterns.length >= 50 && documents.length >= 280 && httpAbuses.length >= 120);
      assert.ok(chosenDocuments.length >= 80 && chosenAbuses.length >= 40);
    });

    test('the process has not ended, and nothing in it was left uncaught', () => {
      assert.equal(process.kill(server.pid, 0), true);
      assert.doesNotMatch(server.stderr() + server.stdout(), /unhandled|uncaught|out of memory/i);
    });

    test(`no answer about its health came more than ${MAX_GAP_MS} ms late`, async (t) => {
      const { answers, failures, gaps } = await watch.stop();
      t.diagnostic(`${answers} answers; the longest gaps: ${gaps.slice(0, 3).map(describeGap).join('; ')}`);
      assert.deepEqual(failures, []);
      const late = gaps.filter(({ ownMs }) => ownMs > MAX_GAP_MS);
      for (const gap of late) await assertHarmless(t, gap);
    });

    test(`its resident memory comes back to within ${MAX_MEMORY_GROWTH / MEBIBYTE} MiB`, async (t) => {
      const megabytes = (bytes: number): string => `${Math.round(bytes / MEBIBYTE)} MiB`;
      const highest = residentBytes(server.pid);
      await eventually(
        () => (residentBytes(server.pid) - warmBytes <= MAX_MEMORY_GROWTH ? true : undefined),
        `${megabytes(highest)} of memory come back to those of the warm server, ${megabytes(warmBytes)}`,
      );
      t.diagnostic(
        `${megabytes(warmBytes)} when warm, ${megabytes(highest)} at the end of the cases, ${megabytes(residentBytes(server.pid))} at rest`,
      );
    });

    test('it stops in order', async () => {
      assert.deepEqual(await server.stop(), { code: 0, signal: null });
    });
  });
}

interface Named {
  readonly name: string;
}

/** A case that was sent, by `performance.now()`. */
interface Sent extends Named {
  readonly fromMs: number;
  readonly toMs: number;
  again(): Promise<void>;
}

/** Each case is a test of its own, run on the first lane that is free, and is noted in `sent`. */
async function runCases<Case extends Named>(
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

async function assertSchema(tenant: Tenant, case_: SchemaCase, place: SchemaPlace): Promise<void> {
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
function choosePlaces({ places = SCHEMA_PLACES }: SchemaCase, index: number): readonly SchemaPlace[] {
  const left: SchemaPlace = index % 2 === 0 ? 'response_format' : 'text.format';
  return places.length === 1 ? places : places.filter((place) => place !== left);
}

/** A pattern on its way: in the schema of an object with one member. */
function asSchema({ name, pattern, keyword = 'pattern', value, answer, places }: PatternCase): SchemaCase {
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

async function assertDocument(tenant: Tenant, document: DocumentCase): Promise<void> {
  const { answer, message, tookMs } = await indexDocument(tenant, document);
  const right = [document.answer].flat();
  const told = `${answer} after ${Math.round(tookMs)} ms: ${message}`;
  assert.ok(
    right.some((one) => one === answer),
    `${told}, and not ${right.join(' or ')}`,
  );
}

async function assertAbuse(abuse: HttpAbuse, gate: Gate, tenant: Tenant, pid: number): Promise<void> {
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

function pick<T>(items: readonly T[], index: number): T {
  return items[index % items.length] ?? assert.fail('there is nothing to pick from');
}
