import type { PriceBook } from '../../prices/price-book.ts';
import type { WorkspaceRegistrant } from '../../registrant.ts';
import { agentStateOf, consentingTldsOf, findAgent } from '../../registrant-changes/index.ts';
import type { WorkspaceDb } from '../../workspace-scope.ts';
import type { DesignatedAgent } from './schema.ts';

export async function renderAgent(
  prices: Pick<PriceBook, 'list'>,
  db: WorkspaceDb,
  registrant: Pick<WorkspaceRegistrant, 'email'>,
  now: Date,
): Promise<DesignatedAgent> {
  const row = await findAgent(db);
  const state = agentStateOf(row, registrant, now);
  const shown = state === 'none' ? undefined : row;
  return {
    offered: isAgentOffered(prices, now),
    state,
    asked_at: shown?.asked_at.toISOString() ?? null,
    given_at: shown?.given_at?.toISOString() ?? null,
    withdrawn_at: shown?.withdrawn_at?.toISOString() ?? null,
  };
}

export function isAgentOffered(prices: Pick<PriceBook, 'list'>, now: Date): boolean {
  return consentingTldsOf(prices, now).some(({ letsAgent }) => letsAgent);
}
