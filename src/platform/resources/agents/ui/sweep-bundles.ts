/** Removes the bundles that nothing needs any more: of agents that are archived, and of runs that have ended since. */
import type { Jobs } from '../../../../kernel/jobs/jobs.ts';
import type { Logger } from '../../../../kernel/log/log.ts';
import { TenantDatabase } from '../../../store/tenant-db.ts';
import { type ReleaseDependencies, releaseBundle } from './release-bundle.ts';

const SWEEP_UI_BUNDLES = 'sweep-ui-bundles';
/** Bundles a statement. */
const BATCH_SIZE = 500;

export interface SweepDependencies extends ReleaseDependencies {
  readonly logger: Logger;
}

/** Defines the job and its times. Call before `jobs.start`. */
export function defineUiBundleSweep(jobs: Jobs, deps: SweepDependencies): void {
  jobs.define(SWEEP_UI_BUNDLES, ({ signal }) => sweepUiBundles(deps, signal), { concurrency: 1 });
  jobs.schedule(SWEEP_UI_BUNDLES, '17 * * * *', {});
}

export async function sweepUiBundles(deps: SweepDependencies, signal: AbortSignal): Promise<void> {
  let from: readonly [projectId: string, contentHash: string] = ['', ''];
  for (let listed = BATCH_SIZE; listed === BATCH_SIZE && !signal.aborted; ) {
    // Those that no live agent has, by the agents that they might be of; whether anything else needs one is seen when it is held.
    const { rows } = await deps.db.query<{ project_id: string; content_hash: string; is_drafted: boolean }>({
      text: `
        select b.project_id, b.content_hash, exists (select from agents a
          where a.project_id = b.project_id and a.archived_at is null and a.draft -> 'ui_resources' <> '[]'
            and a.draft -> 'ui_resources' @> jsonb_build_array(jsonb_build_object('content_hash', b.content_hash))
        ) as is_drafted
        from ui_bundles b where (b.project_id, b.content_hash) > ($1, $2)
        order by b.project_id, b.content_hash limit ${BATCH_SIZE}`,
      values: [...from],
    });
    for (const { project_id, content_hash, is_drafted } of rows) {
      if (signal.aborted) return;
      if (is_drafted) continue;
      await new TenantDatabase(deps.db, project_id).transaction((tx) =>
        releaseBundle(deps, tx, content_hash, deps.logger),
      );
    }
    const last = rows.at(-1);
    if (last !== undefined) from = [last.project_id, last.content_hash];
    listed = rows.length;
  }
}
