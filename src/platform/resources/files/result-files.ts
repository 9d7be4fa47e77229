/**
 * Files that results of tools bring: kept at once, since the call that gave them is not made again. The step that names them is
 * committed a moment later; what a crash in between leaves is swept.
 */
import type { Database } from '../../../kernel/db/database.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { TurnFiles } from '../../engine/index.ts';
import type { ResultFiles } from '../../mcp/index.ts';
import { TenantDatabase } from '../../store/tenant-db.ts';
import { removeFileWithContent } from './delete-file.ts';
import type { ExpiryDependencies } from './expire-files.ts';

const SWEEP_RESULT_FILES = 'sweep-result-files';
const FILES_A_SWEEP = 500;

/** They are reachable by their ids alone, as those that come inside a conversation. */
export function createResultFiles(db: Database, files: TurnFiles): ResultFiles {
  return {
    async keep({ projectId, smithId, runId, callId }, file) {
      const stored = await files.store(projectId, file);
      try {
        await new TenantDatabase(db, projectId).transaction(async (tx) => {
          await files.claim(tx, smithId, [stored]);
          await tx.raw({
            text: 'update files set result_of = $3 where project_id = $1 and id = $2',
            values: [stored.id, `${runId}/${callId}`],
          });
        });
      } catch (error) {
        await files.discard(projectId, [stored]);
        throw error;
      }
      const { id, filename, mediaType, bytes } = stored;
      return { fileId: id, filename, mediaType, bytes };
    },
  };
}

/** Defines the job and its times. Call before `jobs.start`. */
export function defineResultFileSweep(jobs: Jobs, deps: ExpiryDependencies): void {
  jobs.define(SWEEP_RESULT_FILES, ({ signal }) => sweepResultFiles(deps, signal), { concurrency: 1 });
  jobs.schedule(SWEEP_RESULT_FILES, '37 * * * *', {});
}

/** Removes the files that no step names, once their run has ended, and forgets where the others come from. */
export async function sweepResultFiles(deps: ExpiryDependencies, signal: AbortSignal): Promise<void> {
  const { rows } = await deps.db.query<{ project_id: string; id: string; is_named: boolean }>({
    text: `
      select project_id, id, is_named from (
        select f.project_id, f.id, f.created_at,
          exists (
            select from run_steps s
            where s.project_id = f.project_id and s.run_id = split_part(f.result_of, '/', 1)
              and s.call_id = split_part(f.result_of, '/', 2) and strpos(s.output::text, f.id) > 0
          ) as is_named,
          exists (
            select from runs r
            where r.project_id = f.project_id and r.id = split_part(f.result_of, '/', 1)
              and r.status in ('in_progress', 'paused')
          ) as is_open
        from files f
        where f.result_of is not null and f.created_at < now() - interval '1 hour') found
      where is_named or not is_open
      order by created_at limit ${FILES_A_SWEEP}`,
    values: [],
  });
  for (const { project_id, id, is_named } of rows) {
    if (signal.aborted) return;
    await new TenantDatabase(deps.db, project_id).transaction(async (tx) => {
      if (is_named) {
        await tx.raw({ text: 'update files set result_of = null where project_id = $1 and id = $2', values: [id] });
        return;
      }
      await removeFileWithContent(deps, tx, { fileId: id, smithId: undefined, log: deps.logger });
    });
  }
}
