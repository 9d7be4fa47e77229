import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { publishMcp } from '../../../test/support/mcp-deployment.ts';
import { newClientId, newPkce, obtainCode, openAuthorize, redeem } from '../../../test/support/oauth.ts';
import { startPlatform } from '../../../test/support/platform.ts';
import { sweepOAuth } from './sweep.ts';

const platform = await startPlatform();
after(() => platform.close());
const { db, url } = platform;

const age = (table: string, column: string, clientId: string) =>
  db.query({
    text: `update ${table} set ${column} = now() - interval '25 hours' where ${table === 'oauth_clients' ? 'id' : 'client_id'} = $1`,
    values: [clientId],
  });

async function left(table: string, column: string, clientId: string): Promise<number> {
  const { rowCount } = await db.query({ text: `select from ${table} where ${column} = $1`, values: [clientId] });
  return rowCount;
}

test('what is of no use any more goes, and nothing else', async () => {
  const project = await platform.createProject();
  const { path } = await publishMcp(project, { type: 'smith', id: await project.createSmith() });
  const resource = `http://127.0.0.1:8787${path}`;
  const used = await obtainCode(url, { resource, token: project.token, origin: 'http://127.0.0.1:8787' });
  assert.equal((await redeem(url, used)).status, 200);
  const [unused, fresh] = [await newClientId(url), await newClientId(url)];
  for (const client_id of [unused, fresh]) {
    await openAuthorize(url, { client_id, resource, code_challenge: newPkce().challenge });
  }
  for (const id of [used.clientId, unused]) await age('oauth_clients', 'created_at', id);
  await age('oauth_requests', 'expires_at', unused);
  const end = `update oauth_refresh_tokens set expires_at = now() - interval '1 second' where project_id = $1`;
  await db.query({ text: end, values: [project.projectId] });
  await db.query({
    text: `insert into oauth_assertions values ($1, 'old', now() - interval '1 second')`,
    values: [fresh],
  });
  await db.query({
    text: `insert into oauth_assertions values ($1, 'new', now() + interval '1 hour')`,
    values: [fresh],
  });

  await sweepOAuth(db, new AbortController().signal);

  const clients = [used.clientId, unused, fresh].map((id) => left('oauth_clients', 'id', id));
  assert.deepEqual(await Promise.all(clients), [1, 0, 1]);
  const requests = [used.clientId, unused, fresh].map((id) => left('oauth_requests', 'client_id', id));
  assert.deepEqual(await Promise.all(requests), [1, 0, 1]);
  assert.equal(await left('oauth_refresh_tokens', 'project_id', project.projectId), 0);
  assert.equal(await left('oauth_assertions', 'client_id', fresh), 1);
  await age('oauth_requests', 'created_at', used.clientId);
  await sweepOAuth(db, new AbortController().signal);
  assert.equal(await left('oauth_requests', 'client_id', used.clientId), 0);
});
