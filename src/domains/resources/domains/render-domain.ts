/** Rows of the portfolio as the interface shows them. */
import { toUnicode } from 'tr46';
import { holdReasonsOf } from '../../holds/index.ts';
import type { DomainRow } from '../../portfolio/index.ts';
import type { RegistryDomain } from '../../registry/registry.ts';
import { renderTransferOut } from '../transfers-out/index.ts';
import type { DomainDetails, DomainEntry } from './schema.ts';

/** `own`: the service's nameservers, sorted. */
export function renderEntry(row: DomainRow, own: readonly string[], now: Date): DomainEntry {
  const { snapshot } = row;
  const nameservers = [...(snapshot?.nameservers ?? [])];
  return {
    domain: row.name,
    status: statusOf(row, now),
    expires_at: row.expires_at?.toISOString() ?? null,
    auto_renew: row.auto_renew,
    dnssec: (snapshot?.dsRecords.length ?? 0) > 0,
    nameservers,
    hosted: nameservers.join(' ') === own.join(' '),
    registrar_lock: snapshot?.statuses.includes('clientTransferProhibited') ?? false,
    transfer_locked_until: row.transfer_locked_until?.toISOString() ?? null,
    whois_privacy: snapshot?.isPrivate ?? row.whois_privacy,
    release_at: row.release_at?.toISOString() ?? null,
    suspended_for: holdReasonsOf(row),
    transfer_out: row.transfer_out === null ? null : renderTransferOut(row.transfer_out),
    addedVia: row.added_via,
    syncedAt: snapshot === null ? null : (row.synced_at?.toISOString() ?? null),
  };
}

export function renderDetails(
  row: DomainRow,
  info: RegistryDomain,
  own: readonly string[],
  now: Date,
): Omit<DomainDetails, 'renewal' | 'restoration' | 'trade'> {
  return {
    ...renderEntry({ ...row, snapshot: info }, own, now),
    unicode: toUnicode(row.name).domain,
    registry_id: info.registryId,
    registry_statuses: [...info.statuses],
    registered_at: info.createdAt ?? null,
    updated_at: info.updatedAt,
    ds_records: info.dsRecords.map(({ keyTag, algorithm, digestType, digest }) => ({
      key_tag: keyTag,
      algorithm,
      digest_type: digestType,
      digest,
    })),
  };
}

function statusOf(row: DomainRow, now: Date): DomainEntry['status'] {
  const { state, snapshot, expires_at, transfer_out: transfer } = row;
  if (state === 'acquiring' || snapshot === null) return 'Pending';
  if (transfer?.state === 'approved' && row.missing_since !== null) return 'TransferredAway';
  const { statuses } = snapshot;
  if (statuses.includes('redemptionPeriod')) return 'Redemption';
  if (statuses.includes('pendingDelete')) return 'PendingDelete';
  // What is known of the transfer may be newer.
  const isTransferring = transfer === null ? statuses.includes('pendingTransfer') : transfer.state === 'pending';
  if (isTransferring) return 'PendingTransfer';
  return expires_at !== null && expires_at <= now ? 'Expired' : 'Active';
}
