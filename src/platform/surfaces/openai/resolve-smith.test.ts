import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { publishAgent, readEvents } from '../../../../test/support/agents.ts';
import { startPlatform, type TestProject } from '../../../../test/support/platform.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import { TenantDatabase } from '../../store/tenant-db.ts';
import { requireStores } from './parse-tools.ts';
import { resolveSmith } from './resolve-smith.ts';

const platform = await startPlatform();
after(() => platform.close());

/** The store as an operation of the project gets it. */
function scopeTo({ projectId }: { readonly projectId: string }) {
  return new TenantDatabase(platform.platform.engine.db, projectId);
}

function tenantOf({ projectId }: TestProject): ProjectCaller {
  return { kind: 'tenant', projectId, tokenId: 'tok_test', scopes: new Set(['tenant:*']) };
}

function smithCaller({ projectId }: TestProject, smithId: string): ProjectCaller {
  return {
    kind: 'smith',
    projectId,
    smithId,
    tokenId: 'tok_test',
    scopes: new Set(['runs:write', 'vector_stores:read']),
  };
}

function refusal(code: string, param?: string) {
  return (error: unknown) => {
    assert.ok(error instanceof ApiError, String(error));
    assert.deepEqual([error.code, error.detail.param], [code, param]);
    return true;
  };
}

test('a smith token is the smith, whatever `user` says', async () => {
  const project = await platform.createProject();
  const smithId = await project.createSmith({ external_id: 'ada' });
  const other = await project.createSmith({ external_id: 'bob' });
  const caller = smithCaller(project, smithId);
  assert.equal(await resolveSmith(scopeTo(project), { caller, headers: {}, user: undefined }), smithId);
  assert.equal(
    await resolveSmith(scopeTo(project), { caller, headers: { 'ic-smith-id': smithId }, user: 'bob' }),
    smithId,
  );
  const mismatch = resolveSmith(scopeTo(project), { caller, headers: { 'ic-smith-id': other }, user: null });
  await assert.rejects(mismatch, refusal('smith_mismatch'));
});

test('a tenant names a smith by header, or by the external id of its user', async () => {
  const project = await platform.createProject();
  const caller = tenantOf(project);
  const ada = await project.createSmith({ external_id: 'ada' });
  const bob = await project.createSmith({ external_id: 'bob' });
  assert.equal(await resolveSmith(scopeTo(project), { caller, headers: { 'ic-smith-id': bob }, user: undefined }), bob);
  assert.equal(await resolveSmith(scopeTo(project), { caller, headers: {}, user: 'ada' }), ada);
  assert.equal(await resolveSmith(scopeTo(project), { caller, headers: { 'ic-smith-id': bob }, user: 'ada' }), bob);
});

test('a user with smiths on several agents is told to say which', async () => {
  const project = await platform.createProject();
  const caller = tenantOf(project);
  const own = await project.createSmith({ external_id: 'ada' });
  const agentId = await publishAgent(project);
  const second = await resolveSmith(scopeTo(project), { caller, headers: { 'ic-agent-id': agentId }, user: 'ada' });
  assert.notEqual(second, own);
  await assert.rejects(
    resolveSmith(scopeTo(project), { caller, headers: {}, user: 'ada' }),
    refusal('smith_unresolved', 'user'),
  );
  assert.equal(
    await resolveSmith(scopeTo(project), { caller, headers: { 'ic-agent-id': agentId }, user: 'ada' }),
    second,
  );
});

test('of many first requests of a user one makes the smith, and all get it', async () => {
  const project = await platform.createProject();
  const agentId = await publishAgent(project);
  const question = { caller: tenantOf(project), headers: { 'ic-agent-id': agentId }, user: 'eve' };
  const ids = await Promise.all(Array.from({ length: 8 }, () => resolveSmith(scopeTo(project), question)));
  assert.equal(new Set(ids).size, 1);
  const events = await readEvents(project, 'smith.created');
  assert.deepEqual(
    events.map(({ data }) => [data.smith_id, data.agent_id, data.external_id]),
    [[ids[0], agentId, 'eve']],
  );
});

test('what names no smith is refused with what to do', async () => {
  const project = await platform.createProject();
  const stranger = await platform.createProject();
  const foreign = await stranger.createSmith({ external_id: 'ada' });
  const archived = await project.createSmith({ external_id: 'gone' });
  await project.delete(`/v1/smiths/${archived}`);
  const draft = await project.post('/v1/agents', { name: 'Draft' });
  const caller = tenantOf(project);
  const refused: [Record<string, string>, string | undefined, string, string][] = [
    [{}, undefined, 'smith_required', 'user'],
    [{}, '', 'smith_required', 'user'],
    [{ 'ic-agent-id': draft.body.id }, undefined, 'user_required', 'user'],
    [{}, 'ada', 'smith_unresolved', 'user'],
    [{}, 'gone', 'smith_unresolved', 'user'],
    [{ 'ic-smith-id': foreign }, undefined, 'smith_unresolved', 'IC-Smith-Id'],
    [{ 'ic-smith-id': archived }, undefined, 'smith_unresolved', 'IC-Smith-Id'],
    [{ 'ic-agent-id': mintId('agt') }, 'ada', 'not_found', 'IC-Agent-Id'],
    [{ 'ic-agent-id': draft.body.id }, 'ada', 'agent_unpublished', 'IC-Agent-Id'],
    [{ 'ic-agent-id': draft.body.id }, 'x'.repeat(256), 'invalid_request', 'user'],
  ];
  for (const [headers, user, code, param] of refused) {
    await assert.rejects(
      resolveSmith(scopeTo(project), { caller, headers, user }),
      refusal(code, param),
      JSON.stringify(headers),
    );
  }
  assert.deepEqual(await readEvents(project, 'smith.created').then((events) => events.length), 1);
});

test('the stores to search are ones that the caller sees', async () => {
  const project = await platform.createProject();
  const smithId = await project.createSmith();
  const stores = ['vs_tenants', 'vs_smiths', 'vs_gone'];
  for (const [index, id] of stores.entries()) {
    await platform.platform.engine.db.query({
      text: `insert into vector_stores (project_id, id, smith_id, embedding_model, chunk_tokens, overlap_tokens, deleted_at)
             values ($1, $2, $3, 'builtin/embed', 800, 400, $4)`,
      values: [project.projectId, id, index === 1 ? smithId : null, index === 2 ? new Date() : null],
    });
  }
  const search = (...ids: string[]) => ({
    vector_store_ids: ids,
    max_num_results: null,
    filters: null,
    ranking_options: null,
  });
  await requireStores(scopeTo(project), tenantOf(project), search('vs_tenants', 'vs_smiths'));
  await requireStores(scopeTo(project), smithCaller(project, smithId), search('vs_smiths'));
  await requireStores(scopeTo(project), smithCaller(project, smithId), undefined);
  const refused: [ProjectCaller, string][] = [
    [tenantOf(project), 'vs_gone'],
    [tenantOf(await platform.createProject()), 'vs_tenants'],
    [smithCaller(project, smithId), 'vs_tenants'],
  ];
  for (const [caller, id] of refused) {
    await assert.rejects(requireStores(scopeTo(caller), caller, search(id)), refusal('not_found', 'tools'));
  }
});
