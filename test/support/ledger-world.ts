/** Rows that bookings are about. */

import type { OrderState } from '../../src/domains/tables.ts';
import { credit, openWallet } from '../../src/domains/wallet/index.ts';
import { systemDb } from '../../src/domains/workspace-scope.ts';
import type { Database, Executor } from '../../src/kernel/db/database.ts';
import { mintId } from '../../src/kernel/ids/ids.ts';

export async function makeWorkspace(db: Database, cents: number): Promise<string> {
  const workspaceId = mintId('wsp');
  await db.transaction(async (tx) => {
    await systemDb(tx).insertInto('workspaces').values({ id: workspaceId, name: 'Test' }).execute();
    await openWallet(tx, workspaceId);
    if (cents > 0) await credit(tx, creditOf(workspaceId, cents));
  });
  return workspaceId;
}

export function creditOf(workspaceId: string, amountCents: number, reference = mintId('evt')) {
  return { workspaceId, source: 'demo', amountCents, reference, description: 'test' } as const;
}

export async function makeOrder(db: Database, workspaceId: string, amountCents: number): Promise<string> {
  const [id, domainId] = [mintId('ord'), mintId('dom')];
  const name = `${domainId}.example`;
  await db.transaction(async (tx) => {
    await tx.query({
      text: `insert into domains.domains (workspace_id, id, name, state, added_via)
             values ($1, $2, $3, 'acquiring', 'registration')`,
      values: [workspaceId, domainId, name],
    });
    await tx.query({
      text: `insert into domains.orders (workspace_id, id, kind, origin, domain_id, name, years, amount_cents, pays_with, state)
             values ($1, $2, 'registration', 'request', $3, $4, 1, $5, 'wallet', 'paying')`,
      values: [workspaceId, id, domainId, name, amountCents],
    });
  });
  return id;
}

export async function setState(tx: Executor, orderId: string, state: OrderState): Promise<void> {
  await tx.query({ text: 'update domains.orders set state = $2 where id = $1', values: [orderId, state] });
}
