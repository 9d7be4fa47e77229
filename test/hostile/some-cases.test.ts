/** Some cases of each kind in this folder get the answer that is right. The soak sends every one to a process of its own, which lives to the end. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type OpenAiUpstream, startOpenAiUpstream } from '../fakes/openai-upstream.ts';
import { startPlatform } from '../support/platform.ts';
import { documents } from './documents.ts';
import { bodyAbuses } from './http/bodies.ts';
import { framingAbuses } from './http/framing.ts';
import { patterns } from './patterns.ts';
import { asSchema, assertAbuse, assertDocument, assertSchema, choosePlaces, runCases } from './run-cases.ts';
import { schemas } from './schemas.ts';
import { type Gate, openTenant, type Tenant } from './tenants.ts';

/** Of each kind one in so many. */
const ONE_IN = { schemas: 8, patterns: 8, requests: 6 };
/** None of them takes long to read, so that no limit of time says what comes of it. */
const DOCUMENTS: readonly string[] = [
  'text: halves of surrogate pairs in UTF-8',
  'text: UTF-16 without its mark',
  'text: nothing',
  'text that says it is a PDF',
  'a document under a password',
  'PDF: two forms that draw each other',
  'PDF: no catalogue',
  'XML: a document that is a picture',
  'XML: entities from a file and from the network',
  'XLSX: no sheet at all',
  'HTML: a cell over two thousand million columns and rows',
  'a font: WOFF',
  'a part with a drive and backslashes',
  'a part named twice',
  'a packed size that reaches past the end',
  'a stream that is no deflate',
  'an empty archive',
];
const LANES = 4;

function choose<Case>(cases: readonly Case[], oneIn: number): readonly Case[] {
  return cases.filter((_, index) => index % oneIn === 0);
}

describe('a server that gets some of what a caller may send', () => {
  const cleanups: (() => Promise<void>)[] = [];
  const lanes: Tenant[] = [];
  let modelServer: OpenAiUpstream;
  let gate: Gate;

  before(async () => {
    const cleanup = { after: (work: () => Promise<void>) => void cleanups.unshift(work) };
    const platform = await startPlatform();
    cleanup.after(() => platform.close());
    gate = { url: platform.url, organization: platform.organization };
    modelServer = await startOpenAiUpstream();
    cleanup.after(() => modelServer.close());
    modelServer.respondWith({ type: 'embeddings' });
    for (let made = 0; made < LANES; made += 1) lanes.push(await openTenant(gate, `Some ${made}`, modelServer.url));
  });
  after(async () => {
    for (const work of cleanups) await work();
  });

  test('a schema or a pattern is accepted, refused or fails as its case says', async (t) => {
    const chosen = [...choose(schemas, ONE_IN.schemas), ...choose(patterns, ONE_IN.patterns).map(asSchema)];
    const turns = chosen.flatMap((case_, index) =>
      choosePlaces(case_, index).map((place) => ({ name: `${case_.name}, as ${place}`, case_, place })),
    );
    await runCases(t, [], turns, lanes, ({ case_, place }, tenant) => assertSchema(tenant, case_, place));
  });

  test('a document is indexed or refused as its case says', async (t) => {
    const chosen = documents.filter(({ name }) => DOCUMENTS.includes(name));
    assert.equal(chosen.length, DOCUMENTS.length);
    await runCases(t, [], chosen, lanes, (document, tenant) => assertDocument(tenant, document));
  });

  test('a request that abuses HTTP is answered or cut off as its case says', async (t) => {
    const chosen = choose([...framingAbuses, ...bodyAbuses], ONE_IN.requests);
    await runCases(t, [], chosen, lanes, (abuse, tenant) => assertAbuse(abuse, gate, tenant, process.pid));
  });
});
