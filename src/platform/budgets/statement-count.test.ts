/** What usage and budgets add to a turn in statements: nothing, until a budget that blocks applies. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startOpenAiUpstream } from '../../../test/fakes/openai-upstream.ts';
import { noteStatements } from '../../../test/support/noted-database.ts';
import { type Answer, startPlatform, type TestProject } from '../../../test/support/platform.ts';
import { makeSmith, question, useUpstream } from '../../../test/support/turns.ts';

const upstream = await startOpenAiUpstream();
const store = await startPlatform();
const { db, seen } = noteStatements(store.db);
const platform = await startPlatform({ sharing: { db, vault: store.vault, blobs: store.blobs } });
after(async () => {
  await platform.close();
  await store.close();
  await upstream.close();
});

const MODEL = 'openai/gpt-4o-mini';

type Ask = (project: TestProject, smithId: string) => Promise<Answer>;

const complete: Ask = (project, smithId) => {
  const messages = [{ role: 'user', content: 'Hello' }];
  return project.post('/v1/chat/completions', { model: MODEL, messages }, { 'ic-smith-id': smithId });
};
const run: Ask = (project, smithId) => project.post(`/v1/smiths/${smithId}/runs`, question('Hello'));
/** Its caller is shown the run from its start. */
const streamRun: Ask = (project, smithId) =>
  project.post(`/v1/smiths/${smithId}/runs`, { ...question('Hello'), stream: true });

/** Statements of a whole turn on the project's rows; the first turn makes what later ones find. */
async function countStatements(project: TestProject, ask: Ask = complete): Promise<number> {
  const { id } = await makeSmith(platform, { model: MODEL }, project);
  assert.ok((await ask(project, id)).status < 300);
  seen.length = 0;
  const { status, text } = await ask(project, id);
  assert.ok(status < 300, text);
  return seen.filter(({ values = [] }) => values[0] === project.projectId).length;
}

async function makeProject(): Promise<TestProject> {
  const project = await platform.createProject();
  await useUpstream(project, upstream, 'openai');
  return project;
}

test('a turn takes as many statements as without budgets: its smith, its start and its end', async () => {
  const project = await makeProject();
  assert.equal(await countStatements(project), 3);
  const { body } = await project.post('/v1/budgets', { scope: 'tenant', limit: 1 });
  assert.equal(await countStatements(project), 3, 'a budget that warns');
  await project.patch(`/v1/budgets/${body.id}`, { action: 'block' });
  assert.equal(await countStatements(project), 3, 'a budget that blocks is reserved of by the start');
});

test('a run that is waited for takes as many, and one that is streamed reserves by itself: its start waits for the disk', async () => {
  const project = await makeProject();
  await project.post('/v1/budgets', { scope: 'tenant', limit: 1, action: 'block' });
  assert.equal(await countStatements(project, run), 3);
  assert.equal(await countStatements(project, streamRun), store.db.kind === 'server' ? 4 : 3);
});
