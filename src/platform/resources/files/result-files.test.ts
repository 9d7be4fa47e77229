/** Files of results whose step was committed stay; those of a crash before it go, once nobody can name them any more. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type FakeMcpServer, startMcpServer } from '../../../../test/fakes/mcp-server.ts';
import { startPlatform, type TestPlatform } from '../../../../test/support/platform.ts';
import { openTestLogger } from '../../../../test/support/test-log.ts';
import { createResultFiles, sweepResultFiles } from './result-files.ts';
import { createTurnFiles } from './turn-files.ts';

const logger = openTestLogger();

let server: FakeMcpServer;
let platform: TestPlatform;
before(async () => {
  server = await startMcpServer([{ name: 'draw' }]);
  platform = await startPlatform();
});
after(async () => {
  await platform.close();
  await server.close();
});

test('a file of a result that no step names is removed once its run has ended, and no other', async () => {
  const { db, blobs } = platform;
  const p = await platform.createProject();
  await p.put('/v1/tenant/mcp/peer', { url: server.url });
  assert.equal((await p.post('/v1/tenant/mcp/peer/refresh')).status, 200);
  const image = { type: 'image', data: Buffer.from('an image').toString('base64'), mimeType: 'image/png' };
  server.onCall = () => ({ content: [image, { type: 'text', text: 'x'.repeat(70_000) }] });
  const smithId = await p.createSmith();
  const ask = async (content: string, tools: object[] = []) => {
    const { body, text } = await p.post(`/v1/smiths/${smithId}/runs`, { input: [{ role: 'user', content }], tools });
    assert.ok(body.id, text);
    return body;
  };
  const ended = await ask('Call the tool peer__draw with {}');
  assert.equal(ended.status, 'completed');
  const [event] = (await p.get('/v1/events?type=tool.completed&limit=1')).body.data;
  const named: string[] = JSON.stringify(event.data.output).match(/file_[0-9a-z]{20,}/g) ?? [];
  assert.equal(new Set(named).size, 2);

  await p.put('/v1/tenant/mcp/peer', { url: server.url, approval_policy: [{ match: '*' }] });
  assert.equal((await p.post('/v1/tenant/mcp/peer/refresh')).status, 200);
  const open = await ask('Call the tool peer__draw with {}');
  assert.equal(open.status, 'paused');

  const usedBytes = async () => (await p.get('/v1/tenant/storage')).body.used_bytes;
  const before = await usedBytes();
  const config = { fileLimitBytes: 1_000_000, projectStorageBytes: 1_000_000 };
  const files = createResultFiles(db, createTurnFiles({ db, blobs, config, logger }));
  // As a server leaves it that dies before the step is committed.
  const loseFile = (runId: string) =>
    files.keep(
      { projectId: p.projectId, smithId, runId, callId: 'call_lost' },
      { filename: 'lost.png', mediaType: 'image/png', content: Buffer.from('lost') },
    );
  const lost = await loseFile(ended.id);
  const early = await loseFile(open.id);
  const sweep = () => sweepResultFiles({ db, blobs, logger }, new AbortController().signal);
  const statusOf = async (fileId: string) => (await p.get(`/v1/files/${fileId}/content`)).status;
  await sweep();
  assert.equal(await statusOf(lost.fileId), 200, 'its step may still be on its way');

  await db.query({
    text: `update files set created_at = now() - interval '2 hours' where project_id = $1`,
    values: [p.projectId],
  });
  await sweep();
  assert.equal(await statusOf(lost.fileId), 404);
  for (const fileId of [...named, early.fileId]) assert.equal(await statusOf(fileId), 200, fileId);
  assert.equal(await usedBytes(), before + 4);
  const { rows } = await db.query<{ id: string }>({
    text: 'select id from files where project_id = $1 and result_of is not null',
    values: [p.projectId],
  });
  assert.deepEqual(rows, [{ id: early.fileId }]);

  assert.equal((await p.post(`/v1/smiths/${smithId}/runs/${open.id}/cancel`)).status, 200);
  await sweep();
  assert.equal(await statusOf(early.fileId), 404);
  assert.equal(await usedBytes(), before);
});
