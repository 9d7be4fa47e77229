/**
 * A new key for a zone that is signed. Zones have one key for everything, so there is one rollover: by double signatures (RFC 6781 4.1.3), the
 * way for a key that signs keys, which holds for what else it signs too.
 *
 *        asked for, or the key is old       1 all answers have both signatures   2 registry shows the new DS alone   3 its TTL has passed
 *   on ────────────────────────────▶ signing ──────────────────────────────▶ parent ─────────────────────────▶ retiring ─────────────▶ on
 *
 *   1  The new key signs beside the present one, for as long as any answer with one signature, or the list of keys without the new one, may be
 *      remembered. Before that no validator may be led to the new key.
 *   2  The DS record of the new key takes the place of the old one. Either is right now.
 *   3  The old key goes when nobody remembers the old DS record. It stays as long as the registry shows anything else.
 *
 * - Every arrow is one write of the zone's row; every step is idempotent. What the registry shows decides, as in advance-dnssec.ts.
 * - A registry that refuses leaves a zone with two keys, which validates: it is asked again, and `dnssec_failure` says why.
 * - `request off` ends it anywhere: all DS records go, are waited for, and both keys with them.
 */
import type { MutationOutcome } from '../../registry/registry.ts';
import { areSameDs, type DnssecContext, failureOf, isAwaited, postpone, sendDs, viewRegistry } from './dnssec-step.ts';
import type { ClaimedZone, ZoneProgress } from './dnssec-store.ts';
import { longestTtlMs, saveProgress } from './dnssec-store.ts';

/** Until all servers of the zone have what is published to one of them. */
const SPREAD_MS = 3_600_000;

export async function rollKey(context: DnssecContext, zone: ClaimedZone): Promise<void> {
  switch (zone.rollState) {
    case 'signing':
      return signWithBoth(context, zone);
    case 'parent':
      return changeParent(context, zone);
    case 'retiring':
      return retireOld(context, zone);
    case null:
      return;
  }
}

async function signWithBoth(context: DnssecContext, zone: ClaimedZone): Promise<void> {
  const rollDsRecords = await context.zones.addKey(zone.name, zone.dsRecords);
  const now = context.clock.now();
  const since = zone.rollStepAt !== null && areSameDs(rollDsRecords, zone.rollDsRecords) ? zone.rollStepAt : now;
  const isRememberedUntil = since.getTime() + SPREAD_MS + (await longestTtlMs(context.db, zone));
  const isOver = now.getTime() >= isRememberedUntil;
  await saveProgress(context.db, zone, {
    ...settled,
    rollDsRecords,
    rollStepAt: isOver ? null : since,
    rollState: isOver ? 'parent' : 'signing',
    nextLookAt: isOver ? null : new Date(isRememberedUntil),
  });
}

async function changeParent(context: DnssecContext, zone: ClaimedZone): Promise<void> {
  const present = await context.zones.addKey(zone.name, zone.dsRecords);
  // Somebody has taken the new key away at the nameserver: another one begins anew.
  if (!areSameDs(present, zone.rollDsRecords)) {
    const again: ZoneProgress = { rollState: 'signing', rollStepAt: context.clock.now(), rollDsRecords: present };
    return postpone(context, zone, { ...again, failure: 'The new key was lost at the nameserver.' });
  }
  if (await isAtRegistry(context, zone)) return startRetiring(context, zone);
  const view = await viewRegistry(context, zone);
  if (view.name !== 'ours')
    return postpone(context, zone, { failure: 'The registry does not report the name as ours.' });
  if (isAwaited(context, zone, view)) return postpone(context, zone);
  // Nobody wants it any more, or another process has the zone.
  if (!(await saveProgress(context.db, zone, { dsPendingSince: null }))) return;
  await applyOutcome(context, zone, await sendDs(context, zone, zone.rollDsRecords));
}

async function applyOutcome(context: DnssecContext, zone: ClaimedZone, outcome: MutationOutcome): Promise<void> {
  switch (outcome.kind) {
    case 'completed':
      if (await isAtRegistry(context, zone)) return startRetiring(context, zone);
      return postpone(context, zone, { failure: 'The registry does not show the new DS record yet.' });
    case 'pending':
      return postpone(context, zone, { dsPendingSince: context.clock.now() });
    case 'unknown':
      return postpone(context, zone, failureOf(zone, outcome));
    case 'rejected':
      return postpone(context, zone, failureOf(zone, outcome));
  }
}

async function startRetiring({ clock, db, dsTtlMs }: DnssecContext, zone: ClaimedZone): Promise<void> {
  const rollStepAt = clock.now();
  const nextLookAt = new Date(rollStepAt.getTime() + dsTtlMs);
  await saveProgress(db, zone, { ...settled, rollState: 'retiring', rollStepAt, nextLookAt });
}

async function retireOld(context: DnssecContext, zone: ClaimedZone): Promise<void> {
  const { clock, db, dsTtlMs, logger, zones } = context;
  const now = clock.now();
  if (!(await isAtRegistry(context, zone))) {
    const failure = 'The registry shows other DS records again.';
    return postpone(context, zone, { rollState: 'parent', rollStepAt: null, failure });
  }
  const since = zone.rollStepAt ?? now;
  const isForgottenAt = new Date(since.getTime() + dsTtlMs);
  if (now < isForgottenAt) {
    await saveProgress(db, zone, { ...settled, rollStepAt: since, nextLookAt: isForgottenAt });
    return;
  }
  if (!(await saveProgress(db, zone, {}))) return;
  await zones.retireKeys(zone.name, zone.rollDsRecords);
  const over = { rollState: null, rollStepAt: null, rollDsRecords: [], dsRecords: zone.rollDsRecords, keySince: now };
  const isDone = await saveProgress(db, zone, { ...settled, ...over, nextLookAt: null });
  if (isDone) logger.info({ zone: zone.name }, 'a zone has a new key');
}

async function isAtRegistry(context: DnssecContext, zone: ClaimedZone): Promise<boolean> {
  const view = await viewRegistry(context, zone);
  return view.name === 'ours' && !view.isUpdating && areSameDs(view.dsRecords, zone.rollDsRecords);
}

const settled = { failure: null, attempts: 0, dsPendingSince: null } as const;
