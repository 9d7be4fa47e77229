/** Files that results of tools bring: kept at once, since the call that gave them is not made again. */
import type { Database } from '../../../kernel/db/database.ts';
import type { TurnFiles } from '../../engine/index.ts';
import type { ResultFiles } from '../../mcp/index.ts';
import { TenantDatabase } from '../../store/tenant-db.ts';

/** They are reachable by their ids alone, as those that come inside a conversation. */
export function createResultFiles(db: Database, files: TurnFiles): ResultFiles {
  return {
    async keep({ projectId, smithId }, file) {
      const stored = await files.store(projectId, file);
      try {
        await new TenantDatabase(db, projectId).transaction((tx) => files.claim(tx, smithId, [stored]));
      } catch (error) {
        await files.discard(projectId, [stored]);
        throw error;
      }
      const { id, filename, mediaType, bytes } = stored;
      return { fileId: id, filename, mediaType, bytes };
    },
  };
}
