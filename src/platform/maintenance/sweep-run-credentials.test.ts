import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startMcpServer } from '../../../test/fakes/mcp-server.ts';
import { startPlatform } from '../../../test/support/platform.ts';
import { sweepRunCredentials } from './sweep-run-credentials.ts';

const server = await startMcpServer([{ name: 'echo' }]);
const platform = await startPlatform({ outboundAllow: ['127.0.0.1'] });
after(async () => {
  await platform.close();
  await server.close();
});

test('what paused runs may send is wiped after 30 days, and with their smith or project', async () => {
  const tool = { type: 'mcp', server_label: 'peer', server_url: server.url, authorization: 'token' };
  const pause = async (p = platform.createProject()) => {
    const project = await p;
    const smithId = await project.createSmith();
    const body = { input: 'Call the tool peer__echo with {}', tools: [tool] };
    const { body: response, text } = await project.post('/v1/responses', body, { 'ic-smith-id': smithId });
    assert.equal(response.output?.at(-1).type, 'mcp_approval_request', text);
    return { project, smithId, response };
  };
  const [old, young, ofSmith, ofProject] = [await pause(), await pause(), await pause(), await pause()];
  const query = (text: string, id: string) => platform.db.query({ text, values: [id] });
  await query(
    `update runs set updated_at = now() - interval '30 days 1 second' where project_id = $1`,
    old.project.projectId,
  );
  // What deletes them cancels their runs besides.
  await query('update smiths set archived_at = now() where id = $1', ofSmith.smithId);
  await query('update projects set archived_at = now() where id = $1', ofProject.project.projectId);
  await sweepRunCredentials(platform.db, new AbortController().signal);
  const kept = await Promise.all(
    [old, young, ofSmith, ofProject].map(async ({ project }) => {
      const { rows } = await query(
        'select sealed_mcp_credentials is not null as kept from runs where project_id = $1',
        project.projectId,
      );
      return rows[0]?.kept;
    }),
  );
  assert.deepEqual(kept, [false, true, false, false]);
  // A run whose credentials were wiped goes on with fresh ones.
  const input = [{ type: 'mcp_approval_response', approval_request_id: old.response.output.at(-1).id, approve: true }];
  const body = { previous_response_id: old.response.id, input, tools: [{ ...tool, authorization: 'fresh' }] };
  const answer = await old.project.post('/v1/responses', body, { 'ic-smith-id': old.smithId });
  assert.equal(answer.body.status, 'completed', answer.text);
  assert.equal(server.calls().at(-1)?.headers.authorization, 'Bearer fresh');
});
