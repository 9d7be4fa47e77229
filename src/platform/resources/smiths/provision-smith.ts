import type { Transaction } from '../../../kernel/db/database.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import { createSmith } from './create-smith.ts';

/**
 * The live smith of an external id on an agent, made when there is none: what `POST /v1/smiths` does, any number of times
 * at once. Returns its id. Throws `not_found` (param `agent_id`) and `agent_unpublished`.
 */
export async function provisionSmith(
  tx: Transaction,
  caller: ProjectCaller,
  smith: { readonly externalId: string; readonly agentId: string },
): Promise<string> {
  const body = { external_id: smith.externalId, agent_id: smith.agentId };
  const { body: created } = await createSmith({ tx, caller, body });
  return created.id;
}
