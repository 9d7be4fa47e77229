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
 * IRONCRAFT_HOSTILE_EVERY=3 takes every third document and request, which are the most.
 */
import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { ServerProcess } from '../boot/server-process.ts';
import { type OpenAiUpstream, startOpenAiUpstream } from '../fakes/openai-upstream.ts';
import { NEEDS_NO_SERVER, NEEDS_SERVER, openFleet } from '../faults/fleet.ts';
import { eventually } from '../support/turns.ts';
import { documents } from './documents.ts';
import type { Gap } from './health-probe.ts';
import { abuseEnvironment, httpAbuses } from './http-abuses.ts';
import { patterns } from './patterns.ts';
import {
  asSchema,
  assertAbuse,
  assertDocument,
  assertSchema,
  choosePlaces,
  pick,
  runCases,
  type Sent,
} from './run-cases.ts';
import { schemas } from './schemas.ts';
import { type Gate, openTenant, type Tenant } from './tenants.ts';
import { warmUp, warmUpWithLarge } from './warm-up.ts';
import { describeGap, residentBytes, type ServerWatch, watchServer } from './watch-server.ts';

/** Of documents and requests, one in so many is taken. */
const ONE_IN = Number(process.env.IRONCRAFT_HOSTILE_EVERY ?? 1);
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
