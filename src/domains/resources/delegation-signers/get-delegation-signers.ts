import { ApiError } from '../../../kernel/http/errors.ts';
import { HttpReply } from '../../../kernel/http/operation.ts';
import { NOT_KEPT } from '../../list-page.ts';
import type { WorkspaceRead } from '../../operation.ts';
import { type DomainRow, ownDomain } from '../../portfolio/index.ts';
import type { RegistryDomain } from '../../registry/registry.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { readAtRegistry } from '../settings/index.ts';
import type { SignerDependencies } from './dependencies.ts';
import { showDsRecords } from './ds-records.ts';
import type { DelegationSigners, DelegationSignersPath } from './schema.ts';

/** What the registry reports now; while it does not answer, what it reported last, at `syncedAt`. */
export function getDelegationSigners({ clock, registry }: SignerDependencies) {
  return async ({
    db,
    caller,
    params,
  }: WorkspaceRead<{ params: DelegationSignersPath }>): Promise<HttpReply<DelegationSigners>> => {
    const row = await ownDomain(workspaceDb(db, caller.workspaceId), params.name);
    try {
      return reply(showSigners(row, await readAtRegistry(registry, row), clock.now()));
    } catch (error) {
      const isAway = error instanceof ApiError && error.code === 'internal';
      if (!isAway || row.snapshot === null) throw error;
      return reply(showSigners(row, row.snapshot, row.synced_at));
    }
  };
}

function reply(signers: DelegationSigners): HttpReply<DelegationSigners> {
  return new HttpReply(200, signers, NOT_KEPT);
}

export function showSigners(
  { name }: DomainRow,
  { dsRecords, statuses }: Pick<RegistryDomain, 'dsRecords' | 'statuses'>,
  seenAt: Date | null,
): DelegationSigners {
  return {
    domain: name,
    ds_records: showDsRecords(dsRecords),
    syncedAt: seenAt === null ? null : seenAt.toISOString(),
    status: statuses.includes('pendingUpdate') ? 'Pending' : 'Completed',
  };
}
