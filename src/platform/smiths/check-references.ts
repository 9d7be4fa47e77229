import { ApiError } from '../../kernel/http/errors.ts';
import type { ProjectCaller, SmithCaller } from '../access/caller.ts';
import { requireConfigReferences } from '../access/config-references.ts';
import { mayRefer } from '../access/references.ts';
import { effectiveConfig } from '../configuration/effective-config.ts';
import type { TenantDb } from '../store/tenant-db.ts';
import { agentNotFound } from './agent-membership.ts';
import { customerNotFound } from './customer-link.ts';
import type { SmithState } from './smith-state.ts';
import { findSmith } from './smith-store.ts';

/**
 * Checks what a smith is to refer to, against what it refers to now (undefined: it is new). What a smith has, it may be
 * given again. Throws `not_found` (param `agent_id`, `customer_id` or a setting) for what the caller could not get, and
 * `tenant_token_required` where a smith token would undo what the tenant arranged. Whether an agent and a customer are
 * there is for those to find out who hold them.
 */
export async function checkReferences(
  db: TenantDb,
  caller: ProjectCaller,
  smith: (SmithState & { readonly id: string }) | undefined,
  next: SmithState,
): Promise<void> {
  if (caller.kind === 'smith' && smith !== undefined) refuseRearrangement(smith, next);
  if (next.agent_id !== (smith?.agent_id ?? null) && !mayRefer(caller, 'agent')) throw agentNotFound();
  if (next.customer_id !== (smith?.customer_id ?? null) && !mayRefer(caller, 'customer')) throw customerNotFound();
  const row = smith && (await findSmith(db, smith.id));
  const snapshot = row?.agent_snapshot ?? null;
  const present = row && effectiveConfig(row.config, snapshot);
  await requireConfigReferences(db, caller, next.config, present ?? {});
  if (caller.kind === 'smith' && present !== undefined) {
    await checkInherited(db, caller, effectiveConfig(next.config, snapshot), present);
  }
}

/** Which agent, which version of it and which customer a smith has is the tenant's to say: budgets and prompts hang on it. */
function refuseRearrangement(smith: SmithState, next: SmithState): void {
  const isUndone = (key: 'agent_id' | 'customer_id') => smith[key] !== null && next[key] === null;
  const key = (['agent_id', 'customer_id'] as const).find(isUndone);
  const param = key ?? (smith.agent_id === next.agent_id && smith.pin !== next.pin ? 'pin' : undefined);
  if (param === undefined) return;
  throw new ApiError('tenant_token_required', {
    param,
    message: `Only a tenant-admin token can change \`${param}\`. Send the value that the smith has, or leave it out.`,
  });
}

/** Clearing a setting lets the agent's through: not for what the tenant withheld from this smith. */
async function checkInherited(
  db: TenantDb,
  caller: SmithCaller,
  next: ReturnType<typeof effectiveConfig>,
  present: ReturnType<typeof effectiveConfig>,
): Promise<void> {
  await requireConfigReferences(db, caller, next, present);
  // No list of servers is no limit.
  if (next.mcp_servers !== null || present.mcp_servers === null) return;
  throw new ApiError('tenant_token_required', {
    param: 'mcp_servers',
    message: 'Only a tenant-admin token can clear `mcp_servers`. Send a list of servers that the smith has.',
  });
}
