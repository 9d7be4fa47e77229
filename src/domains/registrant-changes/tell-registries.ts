/** Has the registry of each name be told of its holder, with what else waits to be changed there; of a name that is about to come, once it has. */
import type { Transaction } from '../../kernel/db/database.ts';
import { json } from '../../kernel/db/values.ts';
import { registrantAtRegistry, type WorkspaceRegistrant } from '../registrant.ts';

export async function tellRegistries(
  tx: Transaction,
  workspaceId: string,
  registrant: WorkspaceRegistrant,
  now: Date,
): Promise<void> {
  await tx.query({
    text: `
      update domains.domains set
        change_wanted = coalesce(change_wanted, '{}'::jsonb) || $2::jsonb,
        change_wanted_at = coalesce(change_wanted_at, $3),
        change_look_at = $3
      where workspace_id = $1 and state <> 'gone'`,
    values: [workspaceId, json({ registrant: registrantAtRegistry(registrant) }), now],
  });
}
