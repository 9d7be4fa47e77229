/** What the registry shows of an order's command. */
import type { Database } from '../../kernel/db/database.ts';
import { EXPIRY_TOLERANCE_MS } from '../portfolio/index.ts';
import { getRegistrant, registrantAtRegistry } from '../registrant.ts';
import {
  expiryNotShown,
  type Registry,
  type RegistryDomain,
  type RegistryTrade,
  RegistryUnavailable,
} from '../registry/registry.ts';
import { isHolder } from '../registry/same-holder.ts';
import { addYears } from '../registry/term.ts';
import { workspaceDb } from '../workspace-scope.ts';
import type { OrderRow } from './order.ts';

/**
 * - `done`: it shows what the order did, and not merely what the order is for.
 * - `under_way`: its command is pending.
 * - `ours_before`: the name is with our registrar account, and not by this order.
 * - `unclear`: it is done, and by whom the registry does not tell.
 * - `refused`: its command was taken, and has failed since.
 */
export type Evidence = 'done' | 'under_way' | 'ours_before' | 'unclear' | 'refused' | 'nothing';

/** How far the registry's clock and ours may be apart. */
const CLOCK_TOLERANCE_MS = 3_600_000;
/** Registries tell times in seconds. */
const ROUNDING_MS = 1_000;

interface EvidenceDependencies {
  readonly db: Database;
  readonly registry: Pick<Registry, 'habitsOf' | 'tradeOf' | 'transferOf'>;
}

/** `isAnnounced`: a message of the registry says that a transfer of ours has ended. Throws `RegistryUnavailable`. */
export async function readEvidence(
  deps: EvidenceDependencies,
  order: OrderRow,
  info: RegistryDomain | undefined,
  { isAnnounced = false }: { readonly isAnnounced?: boolean } = {},
): Promise<Evidence> {
  const statuses = info?.statuses ?? [];
  switch (order.kind) {
    case 'registration':
      if (info?.isOurs !== true) return 'nothing';
      if (!(await isOwnObject(deps, order, info))) return 'ours_before';
      return statuses.includes('pendingCreate') ? 'under_way' : 'done';
    case 'renewal':
      if (isRenewed(order, info)) return 'done';
      return statuses.includes('pendingRenew') ? 'under_way' : 'nothing';
    case 'transfer':
      if (info?.isOurs === true)
        return (await isOwnTransfer(deps.registry, order, isAnnounced)) ? 'done' : 'ours_before';
      // One that was accepted for this order counts as its own.
      return order.state === 'pending' && statuses.includes('pendingTransfer') ? 'under_way' : 'nothing';
    case 'restoration':
      if (info?.isOurs !== true) return 'nothing';
      // One that waits for its report is sent that.
      if (statuses.some((status) => IN_REDEMPTION.includes(status))) return 'nothing';
      return order.state === 'pending' ? 'done' : whoRestored(order, info);
    case 'trade':
      if (info?.isOurs !== true || order.holder === null) return 'nothing';
      if (info.holder !== undefined && isHolder(info.holder, order.holder)) return 'done';
      return whatBecameOfTrade(order, await deps.registry.tradeOf(order.name));
    default:
      return order.kind satisfies never;
  }
}

/** Only one that is newer than those before the order is its own. The holder is shown once it is approved, sooner or later. */
function whatBecameOfTrade({ baseline }: OrderRow, trade: RegistryTrade | undefined): Evidence {
  const before = new Date(baseline?.tradeRequestedAt ?? 0);
  if (trade === undefined || new Date(trade.requestedAt) <= before) return 'nothing';
  return trade.state === 'refused' ? 'refused' : 'under_way';
}

/**
 * A restoration is an update (RFC 3915 4.2.5): where the name's last one is of the time in which commands left for the order it is the order's,
 * as a name is restored once. Earlier or later it may be somebody else's, or there was another update since.
 */
function whoRestored({ created_at: createdAt, sent_at: sentAt }: OrderRow, { updatedAt }: RegistryDomain): Evidence {
  if (updatedAt === null) return 'unclear';
  const updated = new Date(updatedAt).getTime();
  const isSince = updated >= createdAt.getTime() - CLOCK_TOLERANCE_MS;
  return isSince && updated <= (sentAt ?? createdAt).getTime() + CLOCK_TOLERANCE_MS ? 'done' : 'unclear';
}

/** RFC 3915 3.1. */
const IN_REDEMPTION: readonly string[] = ['redemptionPeriod', 'pendingRestore', 'pendingDelete'];

/** As `readEvidence`; `nothing` where the registry does not answer. */
export async function evidenceOrNothing(
  deps: EvidenceDependencies & { readonly registry: Pick<Registry, 'info'> },
  order: OrderRow,
): Promise<{ readonly evidence: Evidence; readonly info: RegistryDomain | undefined }> {
  try {
    const info = await deps.registry.info(order.name);
    return { evidence: await readEvidence(deps, order, info), info };
  } catch (error) {
    if (error instanceof RegistryUnavailable) return { evidence: 'nothing', info: undefined };
    throw error;
  }
}

/**
 * Not the object that was there before, and none that is older than the order. One that seems a little older, by the registry's clock, is the
 * order's if it is held by whom the order registers it for.
 */
async function isOwnObject(deps: EvidenceDependencies, order: OrderRow, info: RegistryDomain): Promise<boolean> {
  const { baseline, created_at: createdAt, name } = order;
  if (baseline?.kind === 'ours' || baseline?.registryId === info.registryId) return false;
  // One that does not say when it was created has come since, where nothing, or another one, was there before.
  if (info.createdAt === undefined) return baseline?.kind === 'absent' || baseline?.kind === 'foreign';
  const lateMs = new Date(info.createdAt).getTime() - new Date(baseline?.at ?? createdAt).getTime();
  if (lateMs >= -ROUNDING_MS || lateMs < -CLOCK_TOLERANCE_MS) return lateMs >= -ROUNDING_MS;
  const { registrantIdOf } = deps.registry.habitsOf(name);
  if (registrantIdOf === undefined || info.registrantId === undefined) return true;
  const registrant = await getRegistrant(workspaceDb(deps.db, order.workspace_id));
  return registrantIdOf(name, registrantAtRegistry(registrant)) === info.registrantId;
}

/** Throws `RegistryUnavailable` where a name of ours is shown without its expiry: then nothing is known of the renewal. */
function isRenewed(order: OrderRow, info: RegistryDomain | undefined): boolean {
  if (info?.isOurs !== true) return false;
  if (info.expiresAt === undefined) throw expiryNotShown(order.name);
  const target = addYears(order.from_expires_at ?? new Date(0), order.years).getTime();
  return new Date(info.expiresAt).getTime() >= target - EXPIRY_TOLERANCE_MS;
}

/** By the transfer's own dates; where the registry does not tell them, a request that it has accepted, or a message of its end. */
async function isOwnTransfer(
  registry: Pick<Registry, 'transferOf'>,
  order: OrderRow,
  isAnnounced: boolean,
): Promise<boolean> {
  const { baseline, created_at: createdAt } = order;
  if (baseline?.kind === 'ours') return false;
  const transfer = await registry.transferOf(order.name);
  if (transfer === undefined) return order.state === 'pending' || isAnnounced;
  const since = new Date(baseline?.at ?? createdAt).getTime() - CLOCK_TOLERANCE_MS;
  return transfer.isOurs && transfer.state === 'approved' && new Date(transfer.requestedAt).getTime() >= since;
}
