/** From `disabling` to `off`, the DS records first and the keys last: see advance-dnssec.ts. */
import type { MutationOutcome } from '../../registry/registry.ts';
import {
  type DnssecContext,
  failureOf,
  isAwaited,
  isTemporary,
  postpone,
  type RegistryView,
  sendDs,
  viewRegistry,
} from './dnssec-step.ts';
import { type ClaimedZone, saveAndTell, saveProgress } from './dnssec-store.ts';

export async function disableDnssec(context: DnssecContext, zone: ClaimedZone): Promise<void> {
  const view = await viewRegistry(context, zone);
  // Those that were sent are removed even when none is shown: the update that adds them may be late.
  const mayCome = zone.dsRecords.length > 0 && view.name === 'ours';
  if (view.dsRecords.length > 0 || mayCome) return removeDs(context, zone, view);
  if (view.isUpdating) return postpone(context, zone);
  if (zone.dsRemovedAt === null && zone.dsHandedAt !== null) return startWaiting(context, zone);
  if (isCached(context, zone)) return keepWaiting(context, zone);
  return dropKeys(context, zone);
}

async function removeDs(context: DnssecContext, zone: ClaimedZone, view: RegistryView): Promise<void> {
  if (view.name !== 'ours') {
    const failure = 'Another registrar has the name, and its DS records are still there.';
    return postpone(context, zone, { failure, dsRemovedAt: null });
  }
  if (isAwaited(context, zone, view)) return postpone(context, zone, { dsRemovedAt: null });
  const dsHandedAt = zone.dsHandedAt ?? context.clock.now();
  const isWanted = await saveProgress(context.db, zone, { dsHandedAt, dsRemovedAt: null, dsPendingSince: null });
  if (isWanted) await applyOutcome(context, zone, view, await sendDs(context, zone, []));
}

async function applyOutcome(
  context: DnssecContext,
  zone: ClaimedZone,
  before: RegistryView,
  outcome: MutationOutcome,
): Promise<void> {
  switch (outcome.kind) {
    case 'completed': {
      const { dsRecords } = await viewRegistry(context, zone);
      if (dsRecords.length === 0) return startWaiting(context, zone);
      return postpone(context, zone, { dsRecords: [], failure: 'The registry still shows DS records.' });
    }
    case 'pending':
      return postpone(context, zone, { dsRecords: [], dsPendingSince: context.clock.now() });
    case 'unknown':
      return postpone(context, zone, failureOf(zone, outcome));
    case 'rejected':
      if (!isTemporary(outcome.code) && before.dsRecords.length === 0) return startWaiting(context, zone);
      return postpone(context, zone, failureOf(zone, outcome));
  }
}

/** The registry shows no DS record any more; resolvers may still have it cached. */
async function startWaiting({ db, clock, dsTtlMs }: DnssecContext, zone: ClaimedZone): Promise<void> {
  const now = clock.now();
  await saveProgress(db, zone, {
    dsRecords: [],
    dsRemovedAt: now,
    dsPendingSince: null,
    failure: null,
    attempts: 0,
    nextLookAt: new Date(now.getTime() + dsTtlMs),
  });
}

function isCached({ clock, dsTtlMs }: DnssecContext, { dsRemovedAt }: ClaimedZone): boolean {
  return dsRemovedAt !== null && clock.now().getTime() < dsRemovedAt.getTime() + dsTtlMs;
}

/** Too early: `dsTtlMs` is longer than when this check was planned, or the clock was set back. */
async function keepWaiting({ db, dsTtlMs }: DnssecContext, zone: ClaimedZone): Promise<void> {
  if (zone.dsRemovedAt === null) return;
  await saveProgress(db, zone, { failure: null, nextLookAt: new Date(zone.dsRemovedAt.getTime() + dsTtlMs) });
}

async function dropKeys(context: DnssecContext, zone: ClaimedZone): Promise<void> {
  const isWanted = await saveProgress(context.db, zone, {});
  if (!isWanted) return;
  // A publisher that signs nothing has no keys; DNSSEC dates from another one.
  if (context.publisher.supportsDnssec) await context.zones.unsign(zone.name);
  const isOff = await saveAndTell(context.db, zone, 'dnssec.disabled', {
    state: 'off',
    dsRecords: [],
    dsHandedAt: null,
    dsPendingSince: null,
    dsRemovedAt: null,
    failure: null,
    attempts: 0,
    nextLookAt: null,
  });
  if (isOff) context.logger.info({ zone: zone.name }, 'DNSSEC is off');
}
