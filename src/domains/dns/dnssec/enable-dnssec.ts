/** From `enabling` to `on`: see advance-dnssec.ts. */
import { explainRefusal, type Refusal } from '../../registry/explain-refusal.ts';
import type { DsRecord, MutationOutcome } from '../../registry/registry.ts';
import {
  areSameDs,
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

export async function enableDnssec(context: DnssecContext, zone: ClaimedZone): Promise<void> {
  const dsRecords = await context.zones.sign(zone.name);
  const view = await viewRegistry(context, zone);
  if (isThere(view, dsRecords)) return finish(context, zone, dsRecords);
  if (view.name === 'absent') return postpone(context, zone, { failure: 'The registry does not report the name yet.' });
  if (view.name === 'foreign') return postpone(context, zone, { failure: 'Another registrar has the name.' });
  if (isAwaited(context, zone, view)) return postpone(context, zone);
  const handed = { dsRecords, dsHandedAt: zone.dsHandedAt ?? context.clock.now(), dsPendingSince: null };
  if (!(await saveProgress(context.db, zone, handed))) return;
  const outcome = await sendDs(context, zone, dsRecords);
  await applyOutcome(context, zone, { outcome, dsRecords, wasEmpty: view.dsRecords.length === 0 });
}

interface Sent {
  readonly outcome: MutationOutcome;
  readonly dsRecords: readonly DsRecord[];
  /** The registry showed no DS records before. */
  readonly wasEmpty: boolean;
}

async function applyOutcome(context: DnssecContext, zone: ClaimedZone, sent: Sent): Promise<void> {
  const { outcome, dsRecords } = sent;
  switch (outcome.kind) {
    case 'completed':
      if (isThere(await viewRegistry(context, zone), dsRecords)) return finish(context, zone, dsRecords);
      return postpone(context, zone, { failure: 'The registry does not show the DS records yet.' });
    case 'pending':
      return postpone(context, zone, { dsPendingSince: context.clock.now() });
    case 'unknown':
      return postpone(context, zone, failureOf(zone, outcome));
    case 'rejected':
      if (!isTemporary(outcome.code)) return giveUp(context, zone, sent, outcome);
      return postpone(context, zone, failureOf(zone, outcome));
  }
}

async function finish(context: DnssecContext, zone: ClaimedZone, dsRecords: readonly DsRecord[]): Promise<void> {
  const isOn = await saveAndTell(context.db, zone, 'dnssec.enabled', {
    state: 'on',
    dsRecords,
    dsHandedAt: zone.dsHandedAt ?? context.clock.now(),
    dsPendingSince: null,
    keySince: zone.dsHandedAt ?? context.clock.now(),
    failure: null,
    attempts: 0,
    nextLookAt: null,
  });
  if (isOn) context.logger.info({ zone: zone.name }, 'DNSSEC is on');
}

/** A refusal changes nothing at the registry: when it was the first attempt, no DS record was ever there. */
async function giveUp(context: DnssecContext, zone: ClaimedZone, sent: Sent, refusal: Refusal): Promise<void> {
  const { reason } = refusal;
  const neverThere = zone.dsHandedAt === null && sent.wasEmpty;
  context.logger.warn({ zone: zone.name, reason }, 'the registry refuses DS records; DNSSEC is turned off again');
  await saveAndTell(context.db, zone, 'dnssec.refused', {
    state: 'disabling',
    refusal: explainRefusal('settings', zone.name, refusal),
    registrySaid: reason,
    ...(neverThere && { dsRecords: [], dsHandedAt: null }),
    dsPendingSince: null,
    failure: null,
    attempts: 0,
    nextLookAt: null,
  });
}

function isThere(view: RegistryView, dsRecords: readonly DsRecord[]): boolean {
  return view.name === 'ours' && !view.isUpdating && areSameDs(view.dsRecords, dsRecords);
}
