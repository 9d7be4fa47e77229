/** Every way a server ends while it works, and what is left afterwards. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, callOnce, makeFolder, type ServerProcess, startServer, waitFor } from './server-process.ts';

const PATIENCE_MS = 30_000;

/** A smith with a turn in flight that would take half a minute, seen to have begun. */
async function startLongTurn(
  server: ServerProcess,
): Promise<{ path: string; frames: ReadableStreamDefaultReader<string> }> {
  const { tenant_token } = server.credentials;
  const smith = await call(server.url, tenant_token, '/v1/smiths', { model: 'builtin/demo' });
  const { id } = (await smith.json()) as { id: string };
  const input = [{ role: 'user', content: 'Write 300 words at 10 words per second' }];
  const response = await call(server.url, tenant_token, `/v1/smiths/${id}/runs`, { input, stream: true });
  assert.ok(response.body !== null);
  const frames = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const seen = await readUntil(frames, 'message.delta');
  const runId = /"run_id":"(run_\w+)"/.exec(seen)?.[1] ?? '';
  return { path: `/v1/smiths/${id}/runs/${runId}`, frames };
}

async function readUntil(frames: ReadableStreamDefaultReader<string>, text: string): Promise<string> {
  let seen = '';
  while (!seen.includes(text)) {
    const { done, value } = await frames.read();
    assert.ok(!done, `the stream ended before ${text}:\n${seen}`);
    seen += value;
  }
  return seen;
}

async function statusOf(server: ServerProcess, path: string): Promise<string> {
  const reply = await call(server.url, server.credentials.tenant_token, path);
  return ((await reply.json()) as { status: string }).status;
}

test('killed in the middle of a turn, it starts again and goes on with the turn; SIGTERM hands it on within the time', async (t) => {
  const folder = await makeFolder(t);
  const first = await startServer(t, folder);
  const turn = await startLongTurn(first);
  first.kill('SIGKILL');
  assert.equal((await first.ended).signal, 'SIGKILL');

  const second = await startServer(t, folder, { IRONCRAFT_DRAIN_SECONDS: '6' });
  const events = await fetch(`${second.url}${turn.path}/events`, {
    headers: { authorization: `Bearer ${second.credentials.tenant_token}` },
  });
  assert.ok(events.body !== null);
  const frames = events.body.pipeThrough(new TextDecoderStream()).getReader();
  await readUntil(frames, 'run.restarted');

  second.kill('SIGTERM');
  const unready = await waitFor('an unready answer', PATIENCE_MS, async () => {
    const reply = await fetch(`${second.url}/readyz`);
    return reply.status === 503 ? reply : undefined;
  });
  assert.equal(((await unready.json()) as { ok: boolean }).ok, false);
  const created = await call(second.url, second.credentials.tenant_token, '/v1/smiths', { model: 'builtin/demo' });
  const { id } = (await created.json()) as { id: string };
  const run = await callOnce(second.url, second.credentials.tenant_token, `/v1/smiths/${id}/runs`, {
    input: [{ role: 'user', content: 'hello' }],
  });
  assert.equal(run.status, 503, 'no new turns');
  // The stream is told to come back: it ends instead of hanging until the process goes.
  while (!(await frames.read()).done);
  // Past the drain time it would have been 1.
  assert.deepEqual(await second.ended, { code: 0, signal: null });

  const third = await startServer(t, folder);
  assert.equal(await statusOf(third, turn.path), 'in_progress');
  const cancelled = await call(third.url, third.credentials.tenant_token, `${turn.path}/cancel`, {});
  assert.equal(cancelled.status, 200);
  await third.stop();
});

test('a second signal ends a draining server at once', async (t) => {
  const server = await startServer(t, await makeFolder(t), { IRONCRAFT_DRAIN_SECONDS: '60' });
  await startLongTurn(server);
  server.kill('SIGINT');
  await waitFor('the log of the drain', PATIENCE_MS, async () =>
    server.stderr().includes('"draining"') ? true : undefined,
  );
  const ended = await waitFor('its end', PATIENCE_MS, async () => {
    server.kill('SIGINT');
    return Promise.race([server.ended, Promise.resolve(undefined)]);
  });
  // Long before its turn or its minute of draining could have ended.
  assert.deepEqual(ended, { code: 130, signal: null });
});
