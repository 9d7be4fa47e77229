/**
 * Users' accounts at an issuer that ends a family whose refresh token comes twice, while the replicas die: connections that are
 * refreshed at two replicas at once, and runs that wait until their user has connected an account.
 */

import assert from 'node:assert/strict';
import { isConnectionLost } from '../support/http-client.ts';
import type { OAuthUpstream } from '../support/oauth-upstream.ts';
import type { Answer } from '../support/platform.ts';
import { question } from '../support/turns.ts';
import type { Replica, Replicas } from './connector-driver.ts';
import { insist } from './turn-driver.ts';

export interface DrivenAccounts {
  readonly smithId: string;
  readonly refreshes: number;
  /** A replica died over them, so that they had to be connected again. */
  readonly reconnected: number;
}

export interface DrivenRun {
  readonly id: string;
  /** What its one call was sent. */
  readonly mark: string;
  /** False: its replica died over the call before, whose outcome nobody knows then, and which is not made again. */
  readonly hasPaused: boolean;
}

interface Place {
  readonly upstream: OAuthUpstream;
  readonly publicUrl: string;
}

/** 5xx of a replica that sheds load, or whose answer of a provider was cut off: asked again. */
const settled = (answer: Answer): Answer | undefined => (answer.status === 503 ? undefined : answer);

export async function makeSmith(replicas: Replicas): Promise<string> {
  return insist(replicas, 'a smith', async ({ project }) => {
    const made = settled(await project.post('/v1/smiths', { model: 'builtin/demo' }));
    return made?.body.id as string | undefined;
  });
}

/** As a user does: again from the start, where the sign-in was lost with a replica. */
export async function connectAccount(replicas: Replicas, place: Place, smithId: string, provider: string) {
  await insist(replicas, 'an account', async ({ project }) => {
    const link = settled(await project.post(`/v1/smiths/${smithId}/connections/authorize`, { provider }));
    if (link === undefined) return undefined;
    assert.equal(link.status, 200, link.text);
    return arrive(replicas, place, link.body.authorize_url);
  });
}

/** Undefined: the link is spent, and whether by a sign-in that was kept is not known. */
async function arrive(replicas: Replicas, { upstream, publicUrl }: Place, link: string): Promise<true | undefined> {
  const back = await upstream.visit(link);
  const { url } = await insist(replicas, 'a replica that lives', async (found) => found);
  const answer = await fetch(back.replace(publicUrl, url), { redirect: 'manual' });
  const text = await answer.text();
  if (answer.status === 200) return true;
  assert.ok(answer.status === 503 || answer.status === 409, `${answer.status} ${text}`);
  return undefined;
}

export async function driveAccounts(replicas: Replicas, place: Place): Promise<DrivenAccounts> {
  const smithId = await makeSmith(replicas);
  await connectAccount(replicas, place, smithId, 'work');
  const count = { refreshes: 0, reconnected: 0 };
  while (!replicas.stopped()) {
    const row = await onlyConnection(replicas, smithId);
    if (row.status === 'expired') {
      await connectAccount(replicas, place, smithId, 'work');
      count.reconnected += 1;
      continue;
    }
    assert.equal(row.status, 'active');
    const answers = await Promise.all([1, 2].map(() => refresh(replicas, smithId, row.id)));
    if (answers.some((answer) => answer?.status === 200)) count.refreshes += 1;
    for (const answer of answers) {
      if (answer === undefined || answer.status === 200) continue;
      assert.deepEqual([answer.status, answer.body.error.code], [502, 'refresh_failed'], answer.text);
    }
    replicas.progress();
  }
  return { smithId, ...count };
}

/** Whatever a replica left behind, in the end the connection works, or says that it has to be connected again. */
export async function assertNotStuck(replicas: Replicas, place: Place, smithId: string): Promise<'works' | 'expired'> {
  const { id } = await onlyConnection(replicas, smithId);
  const answer = await insist(replicas, 'an answer', async () => refresh(replicas, smithId, id));
  if (answer.status === 200) return 'works';
  assert.equal((await onlyConnection(replicas, smithId)).status, 'expired', answer.text);
  await connectAccount(replicas, place, smithId, 'work');
  const again = await insist(replicas, 'an answer', async () => refresh(replicas, smithId, id));
  assert.equal(again.status, 200, again.text);
  return 'expired';
}

async function onlyConnection(replicas: Replicas, smithId: string): Promise<{ id: string; status: string }> {
  return insist(replicas, 'its connection', async ({ project }) => {
    const { status, body } = await project.get(`/v1/smiths/${smithId}/connections`);
    return status === 200 ? body.data[0] : undefined;
  });
}

async function refresh(replicas: Replicas, smithId: string, id: string): Promise<Answer | undefined> {
  const { project } = await insist<Replica, Replica>(replicas, 'a replica that lives', async (found) => found);
  try {
    return settled(await project.post(`/v1/smiths/${smithId}/connections/${id}/refresh`));
  } catch (error) {
    if (isConnectionLost(error)) return undefined;
    throw error;
  }
}

/** Runs whose one call needs an account that nobody has connected: each of a smith of its own, and each goes on by itself. */
export async function driveWaitingRuns(replicas: Replicas, place: Place, name: string): Promise<DrivenRun[]> {
  const runs: DrivenRun[] = [];
  while (!replicas.stopped()) {
    const smithId = await makeSmith(replicas);
    const mark = `${name}-${runs.length}`;
    const path = `/v1/smiths/${smithId}/runs`;
    const body = question(`Call the tool notes__whoami with ${JSON.stringify({ mark })}`);
    const id = await insist(replicas, `the run ${mark}`, async ({ project }) => {
      const begun = settled(await project.post(path, body, { 'idempotency-key': mark, prefer: 'respond-async' }));
      if (begun === undefined) return undefined;
      assert.equal(begun.status, 201, begun.text);
      return begun.body.id as string;
    });
    const leave = (left: string) =>
      insist(replicas, `${mark} is ${left} no more`, async ({ project }) => {
        const run = await project.get(`${path}/${id}`);
        const isThere = run.status !== 200 || ['in_progress', left].includes(run.body.status);
        return isThere ? undefined : run;
      });
    const rests = await leave('in_progress');
    const hasPaused = rests.body.status === 'paused';
    if (hasPaused) await connectAccount(replicas, place, smithId, 'mcp:notes');
    const ended = hasPaused ? await leave('paused') : rests;
    assert.equal(ended.body.status, 'completed', ended.text);
    runs.push({ id, mark, hasPaused });
    replicas.progress();
  }
  return runs;
}
