/** What the steps of switching DNSSEC on and off share: their dependencies, and what the registry shows of a name. */
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { backoffMs } from '../../../kernel/retry/backoff.ts';
import { explainRefusal } from '../../registry/explain-refusal.ts';
import type { DsRecord, MutationOutcome, Registry, RejectionCode } from '../../registry/registry.ts';
import type { ZonePublisher } from '../publisher.ts';
import type { ZoneReconciler } from '../zone-reconciler.ts';
import { type ClaimedZone, saveProgress, type ZoneProgress } from './dnssec-store.ts';

export interface DnssecLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface DnssecContext {
  readonly db: Database;
  readonly registry: Pick<Registry, 'info' | 'update'>;
  /** Publish the zone first, and keep publishing and signing apart. */
  readonly zones: Pick<ZoneReconciler, 'sign' | 'unsign' | 'addKey' | 'retireKeys'>;
  readonly publisher: Pick<ZonePublisher, 'supportsDnssec'>;
  readonly clock: Clock;
  readonly logger: DnssecLogger;
  /** How long resolvers may cache DS records that the registry has removed. */
  readonly dsTtlMs: number;
}

/** What the registry shows. */
export interface RegistryView {
  /** `absent`: it has no such name. */
  readonly name: 'ours' | 'foreign' | 'absent';
  readonly dsRecords: readonly DsRecord[];
  /** An update of the name is pending. */
  readonly isUpdating: boolean;
}

/** Before the next check of a zone that could not be advanced. */
const CHECK = { firstMs: 5_000, longestMs: 3_600_000 } as const;
/** An update that is pending for longer without effect is sent again. */
const PENDING_MS = 900_000;
const SAID_LENGTH = 500;

/** Refusals that end with the name's present state. All others are final. */
const temporaryRefusals: ReadonlySet<RejectionCode> = new Set([
  'status_prohibits',
  'pending_transfer',
  'object_does_not_exist',
]);

export function isTemporary(code: RejectionCode): boolean {
  return temporaryRefusals.has(code);
}

/** Throws `RegistryUnavailable`. */
export async function viewRegistry({ registry }: DnssecContext, zone: ClaimedZone): Promise<RegistryView> {
  const domain = await registry.info(zone.name);
  if (domain === undefined) return { name: 'absent', dsRecords: [], isUpdating: false };
  const { isOurs, dsRecords, statuses } = domain;
  return { name: isOurs ? 'ours' : 'foreign', dsRecords, isUpdating: statuses.includes('pendingUpdate') };
}

/** What its owner reads of an update that did not succeed, and what the operator does. */
export function failureOf(
  zone: ClaimedZone,
  outcome: Extract<MutationOutcome, { kind: 'unknown' | 'rejected' }>,
): Pick<ZoneProgress, 'failure' | 'registrySaid'> {
  const registrySaid = outcome.reason;
  if (outcome.kind === 'unknown') return { failure: 'The registry gave no answer. It is asked again.', registrySaid };
  return { failure: `${explainRefusal('settings', zone.name, outcome)} It is tried again.`, registrySaid };
}

export function sendDs(
  { registry }: DnssecContext,
  zone: ClaimedZone,
  dsRecords: readonly DsRecord[],
): Promise<MutationOutcome> {
  return registry.update({ name: zone.name, transactionId: mintId('ds'), dsRecords });
}

/** Whether an update that the registry accepted may still take effect. */
export function isAwaited({ clock }: DnssecContext, zone: ClaimedZone, view: RegistryView): boolean {
  if (view.isUpdating) return true;
  return zone.dsPendingSince !== null && clock.now().getTime() - zone.dsPendingSince.getTime() < PENDING_MS;
}

/** The zone keeps its state and is checked again, later each time. */
export async function postpone(context: DnssecContext, zone: ClaimedZone, progress: ZoneProgress = {}): Promise<void> {
  const waitMs = backoffMs(zone.attempts + 1, CHECK);
  await saveProgress(context.db, zone, {
    ...progress,
    failure: progress.failure ?? null,
    ...(progress.registrySaid !== undefined && { registrySaid: progress.registrySaid.slice(0, SAID_LENGTH) }),
    attempts: zone.attempts + 1,
    nextLookAt: new Date(context.clock.now().getTime() + waitMs),
  });
}

export function areSameDs(left: readonly DsRecord[], right: readonly DsRecord[]): boolean {
  const keys = new Set(left.map(keyOf));
  return left.length === right.length && right.every((record) => keys.has(keyOf(record)));
}

function keyOf({ keyTag, algorithm, digestType, digest }: DsRecord): string {
  return `${keyTag} ${algorithm} ${digestType} ${digest.toUpperCase()}`;
}
