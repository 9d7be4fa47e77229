/**
 * Visitors of a hosted page whose replica is killed in the middle of their answers: each reads on at another one, as the page
 * in the browser does, and has the whole answer of one turn.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyFrame, createAnswer, createFrameParser, isFinal, textOf } from '../../src/platform/hosted/page/answer.js';
import { testServerUrl } from '../support/database.ts';
import { createClient } from '../support/platform.ts';
import { eventually } from '../support/turns.ts';
import { openFleet, patiently } from './fleet.ts';

const VISITORS = 8;
const WORDS = 60;
const MESSAGE = `Write ${WORDS} words at 30 words per second`;
/** Frames that each has seen before the kill. */
const SEEN = 4;

/** Two replicas on the server's store; the embedded one has one process at a time. */
const isServer = testServerUrl() !== undefined;

type Reading = { readonly visitorId: string; readonly answer: ReturnType<typeof createAnswer> };

test(`${VISITORS} visitors read on at another replica once theirs is killed`, async (t) => {
  const fleet = await openFleet(t, { store: isServer ? 'server' : 'embedded', only: 'platform' });
  const first = await fleet.start();
  const second = isServer ? await fleet.start() : undefined;
  const tenant = fleet.project(first);
  const agent = await patiently(() => tenant.post('/v1/agents', { name: 'Helper', model: 'builtin/demo' }));
  await patiently(() => tenant.post(`/v1/agents/${agent.body.id}/versions`, {}));
  const made = await patiently(() =>
    tenant.post('/v1/deployments', { target: { type: 'agent', id: agent.body.id }, kind: 'web' }),
  );
  assert.equal(made.status, 201, made.text);
  const pageId: string = made.body.id;

  const readings = Array.from(
    { length: VISITORS },
    (_, n): Reading => ({ visitorId: `visitor-${n}`, answer: createAnswer() }),
  );
  const cut = readings.map((reading) => read(first.url, pageId, reading));
  await eventually(() => readings.every(({ answer }) => answer.lastId >= SEEN) || undefined, 'every answer has begun');
  first.kill('SIGKILL');
  assert.equal((await first.ended).signal, 'SIGKILL');
  await Promise.all(cut);
  assert.ok(
    readings.some(({ answer }) => !isFinal(answer)),
    'killed in the middle of answers',
  );

  const other = second ?? (await fleet.start());
  await Promise.all(
    readings.map((reading) =>
      eventually(async () => {
        await read(other.url, pageId, reading);
        return isFinal(reading.answer) || undefined;
      }, `${reading.visitorId} is answered`),
    ),
  );
  const project = fleet.project(other);
  for (const { visitorId, answer } of readings) {
    const smiths = await project.get(`/v1/smiths?external_id=${encodeURIComponent(`web:${pageId}:${visitorId}`)}`);
    const runs = await project.get(`/v1/smiths/${smiths.body.data[0].id}/runs`);
    const outputs = runs.body.data.map(({ output }: { output: { content: string } }) => output.content);
    assert.deepEqual([answer.status, outputs], ['completed', [textOf(answer)]]);
    assert.equal(textOf(answer).split(' ').length, WORDS);
  }
});

/** What comes behind what has been read, to the end of the answer or of the connection. */
async function read(url: string, pageId: string, { visitorId, answer }: Reading): Promise<void> {
  const response = await createClient(url, '').open(
    'POST',
    `/v1/hosted/${pageId}/chat`,
    { visitor_id: visitorId, message: MESSAGE },
    {
      accept: 'text/event-stream',
      'idempotency-key': 'one',
      ...(answer.lastId > 0 ? { 'last-event-id': String(answer.lastId) } : {}),
    },
  );
  // A server that has just started may shed load.
  if (response.status !== 200) return void (await response.body?.cancel());
  const parse = createFrameParser((frame) => applyFrame(answer, frame));
  try {
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) parse(piece);
  } catch {
    // Its replica has been killed.
  }
}
