import { effectiveConfig } from '../../configuration/effective-config.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { mcpOf, uiOf } from '../commands/configure-turn.ts';
import { loadSmithForTurn } from '../store/load-smith-turn.ts';

/** Whether the smith has nothing but what a request itself says to shape an answer: no tools, stores, servers, skills or UI. */
export async function isToolless(db: TenantDb, smithId: string): Promise<boolean> {
  const smith = await loadSmithForTurn(db, smithId);
  if (smith === undefined) return false;
  const config = effectiveConfig(smith.config, smith.agent_snapshot);
  const lists = [config.enabled_hosted_tools, config.vector_store_ids, config.skills];
  return uiOf(smith) === undefined && mcpOf(smith) === undefined && lists.every((list) => list.length === 0);
}
