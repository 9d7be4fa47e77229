import { ApiError } from '../../../kernel/http/errors.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { ownDomain } from '../../portfolio/index.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { SettingsDependencies } from './dependencies.ts';
import { showGlue } from './read-glue.ts';
import type { Glue, SettingsPath } from './schema.ts';
import { readAtRegistry } from './update-at-registry.ts';

/** What the registry reports now; while it does not answer, what it reported last, at `syncedAt`, where it was asked for it. */
export function getGlue({ clock, registry }: Pick<SettingsDependencies, 'clock' | 'registry'>) {
  return async ({ db, caller, params }: WorkspaceRead<{ params: SettingsPath }>): Promise<Glue> => {
    const row = await ownDomain(workspaceDb(db, caller.workspaceId), params.name);
    try {
      const { hosts = [] } = await readAtRegistry(registry, row, { withHosts: true });
      return { domain: row.name, glue: showGlue(hosts), syncedAt: clock.now().toISOString() };
    } catch (error) {
      const isAway = error instanceof ApiError && error.code === 'internal';
      if (!isAway || row.snapshot?.hosts === undefined) throw error;
      return { domain: row.name, glue: showGlue(row.snapshot.hosts), syncedAt: row.synced_at?.toISOString() ?? null };
    }
  };
}
