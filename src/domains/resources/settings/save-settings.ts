/** Our side of a change of settings, and what is answered. */
import type { Transaction } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { requestDnssec } from '../../dns/dnssec/index.ts';
import { openZone } from '../../dns/index.ts';
import { type DomainRow, findDomainById, lockDomain, recordInfo, withoutExpiry } from '../../portfolio/index.ts';
import type { RegistryDomain } from '../../registry/registry.ts';
import { findRenewalOrder, renewalOf } from '../../renewals/index.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { SettingsDependencies } from './dependencies.ts';
import { isSameSet, type RequestedSettings } from './plan-change.ts';
import { showGlue } from './read-glue.ts';
import type { Settings } from './schema.ts';

export interface Saved {
  readonly row: DomainRow;
  readonly requested: RequestedSettings;
  /** What the registry says after the change; undefined when it was not asked, or did not answer. */
  readonly seen: RegistryDomain | undefined;
  /** Whether the registry completes the change later. */
  readonly isPending: boolean;
}

/** Throws `not_found` for a name that has left the portfolio meanwhile. */
export async function saveSettings(deps: SettingsDependencies, saved: Saved): Promise<Settings> {
  const { row, requested } = saved;
  return deps.db.transaction(async (tx) => {
    const db = workspaceDb(tx, row.workspace_id);
    const held = await lockDomain(db, row.id);
    if (held === undefined || held.state === 'gone') throw new ApiError('not_found');
    await recordSeen(deps, tx, held, saved);
    await updateRow(tx, held, requested);
    const dnssec = await switchDnssec(deps, tx, saved);
    const after = await findDomainById(db, row.id);
    if (after === undefined) throw new ApiError('not_found');
    const renewal = renewalOf(deps.prices, after, await findRenewalOrder(db, row.id), deps.clock.now());
    const isPending = saved.isPending || dnssec === 'enabling' || dnssec === 'disabling';
    return {
      domain: row.name,
      settings: renderSettings(after, saved, dnssec),
      renewal,
      ...(renewal.renewed_until === null ? {} : { renewed_until: renewal.renewed_until }),
      status: isPending ? 'Pending' : 'Completed',
    };
  });
}

/** An order may have moved the expiry since the registry was asked: the row is newer. */
async function recordSeen(
  { clock, registry }: SettingsDependencies,
  tx: Transaction,
  held: DomainRow,
  { row, seen }: Saved,
): Promise<void> {
  if (seen === undefined) return;
  const isOvertaken = held.expires_at?.getTime() !== row.expires_at?.getTime();
  const place = { workspaceId: row.workspace_id, domainId: row.id, name: row.name };
  await recordInfo(tx, place, isOvertaken ? withoutExpiry(seen) : seen, { registry, now: clock.now() });
}

async function updateRow(tx: Transaction, held: DomainRow, requested: RequestedSettings): Promise<void> {
  const { auto_renew: autoRenew, whois_privacy: isPrivate } = requested;
  if (autoRenew === undefined && isPrivate === undefined) return;
  const forgotten = { renewal_reason: null, renewal_shortfall_cents: null } as const;
  await workspaceDb(tx, held.workspace_id)
    .updateTable('domains')
    .set({
      ...(isPrivate === undefined ? {} : { whois_privacy: isPrivate }),
      ...(autoRenew === true ? { auto_renew: true, release_at: null } : {}),
      // The outcome of earlier attempts is obsolete; a renewal that has been charged shows by its order.
      ...(autoRenew === false ? { auto_renew: false, renewal_state: 'off', ...forgotten } : {}),
    })
    .where('id', '=', held.id)
    .execute();
}

/** The zone's state afterwards; undefined where the service keeps none of the name. */
async function switchDnssec(
  deps: SettingsDependencies,
  tx: Transaction,
  { row, requested, seen }: Saved,
): Promise<Awaited<ReturnType<typeof requestDnssec>> | undefined> {
  const { workspace_id: workspaceId, id: domainId, name } = row;
  const nameservers = requested.nameservers ?? seen?.nameservers ?? row.snapshot?.nameservers ?? [];
  if (!isSameSet(nameservers, deps.nameservers)) return undefined;
  if (requested.nameservers !== undefined || requested.dnssec !== undefined)
    await openZone(tx, { workspaceId, domainId, name });
  if (requested.dnssec !== undefined) {
    return requestDnssec(tx, { workspaceId, domainId, on: requested.dnssec, publisher: deps.publisher });
  }
  const zones = workspaceDb(tx, workspaceId).selectFrom('zones').select('dnssec');
  return (await zones.where('domain_id', '=', domainId).executeTakeFirst())?.dnssec;
}

/** Shows what was requested as set: the registry may complete it later. */
function renderSettings(
  { auto_renew, whois_privacy, snapshot }: DomainRow,
  { requested, seen }: Saved,
  dnssec: string | undefined,
): Settings['settings'] {
  const hosts = requested.glue ?? seen?.hosts;
  const hasDsRecords = (snapshot?.dsRecords.length ?? 0) > 0;
  return {
    auto_renew,
    registrar_lock: requested.registrar_lock ?? snapshot?.statuses.includes('clientTransferProhibited') ?? false,
    whois_privacy: requested.whois_privacy ?? snapshot?.isPrivate ?? whois_privacy,
    dnssec: requested.dnssec ?? (dnssec === undefined ? hasDsRecords : dnssec === 'on' || dnssec === 'enabling'),
    nameservers: [...(requested.nameservers ?? snapshot?.nameservers ?? [])],
    ...(hosts === undefined ? {} : { glue: showGlue(hosts) }),
  };
}
