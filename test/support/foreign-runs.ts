import type { TestContext } from 'node:test';
import type { TestPlatform } from './platform.ts';
import { makeSmith, type TestSmith } from './turns.ts';

export interface ForeignRun {
  readonly smith: TestSmith;
  readonly key: { readonly projectId: string; readonly smithId: string; readonly runId: string };
}

/** A run in progress on a replica that is not the platform's; `onCancel` is what that one does when it is asked to stop it. */
export async function makeForeignRun(
  platform: TestPlatform,
  t: TestContext,
  onCancel: (runId: string) => Promise<void>,
): Promise<ForeignRun> {
  const { db } = platform;
  const smith = await makeSmith(platform);
  const { body: run } = await smith.ask('Hello');
  await db.query({
    text: `
      insert into replicas (id, heartbeat_at) values ('rep_elsewhere', now() + interval '1 hour')
      on conflict (id) do nothing`,
    values: [],
  });
  await db.query({
    text: `
      update runs set status = 'in_progress', replica_id = 'rep_elsewhere', output = null
      where project_id = $1 and id = $2`,
    values: [smith.project.projectId, run.id],
  });
  const stop = await db.listen('run_cancel', (asked) => {
    if (asked === run.id) void onCancel(run.id);
  });
  t.after(stop);
  return { smith, key: { projectId: smith.project.projectId, smithId: smith.id, runId: run.id } };
}
