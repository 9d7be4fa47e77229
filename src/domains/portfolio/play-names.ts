/**
 * Names of the simulated registry that is part of this service: at a real registry they are nobody's, or somebody else's. They are told by
 * that registry's own rows: the id of its object, with the registrar as whom this service works there, for which nobody can log in. A name
 * that was registered at a real registry has another id, also where it is that of the simulated one (`domains epp-server`).
 */
import type { Executor, Transaction } from '../../kernel/db/database.ts';
import { closeZone } from '../dns/index.ts';
import { appendEvent } from '../events/index.ts';

const played = `
  from domains.registry_domains object
  join domains.registry_registrars registrar on registrar.id = object.sponsor
  where registrar.id = 'ironcraft' and registrar.password_hash is null
    and owned.state = 'active' and owned.name = object.name and owned.snapshot ->> 'registryId' = object.roid`;

export async function countPlayNames(executor: Executor): Promise<number> {
  const { rows } = await executor.query<{ count: number }>({
    text: `select count(*)::integer as count from domains.domains owned where exists (select ${played})`,
    values: [],
  });
  return rows[0]?.count ?? 0;
}

/** Takes them out of the portfolios, with their zones, for good: as nothing says that they were paid for, none can be brought back. */
export async function retirePlayNames(tx: Transaction, now: Date): Promise<string[]> {
  const { rows } = await tx.query<{ workspace_id: string; id: string; name: string }>({
    text: `update domains.domains owned set state = 'gone', gone_at = $1, billed_until = null ${played}
      returning owned.workspace_id, owned.id, owned.name`,
    values: [now],
  });
  for (const { workspace_id: workspaceId, id: domainId, name } of rows) {
    await closeZone(tx, { workspaceId, domainId, name });
    await appendEvent(tx, workspaceId, { type: 'domain.deleted', data: { domain: name } });
  }
  return rows.map(({ name }) => name);
}
