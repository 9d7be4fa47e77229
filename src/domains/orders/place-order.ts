/** Inserts an order, with its name and its hold, in one transaction: from here on it ends, even if the process dies. */
import type { Executor, Transaction } from '../../kernel/db/database.ts';
import { isUniqueViolation } from '../../kernel/db/sql-errors.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { IdempotencyClaim } from '../../kernel/http/operation.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { openZone } from '../dns/index.ts';
import { type DomainRow, findOwner, insertAcquisition, lockDomain } from '../portfolio/index.ts';
import { hold, requireNoDebt } from '../wallet/index.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';
import { LEASE_MS, type OrderDependencies } from './dependencies.ts';
import { describeOrder, failureCodeOf, type OrderRow, type Purchase } from './order.ts';
import { openCharge } from './pay-order.ts';
import { findLiveOrder, findOrderByKey, freeKey, insertOrder } from './store.ts';

/** After this time a key means another request. The contract: about 24 hours. */
const KEY_LIFETIME_MS = 24 * 3_600_000;

export interface Placed {
  readonly order: OrderRow;
  /** False: it is an earlier order of the same key, which the caller joins. */
  readonly isNew: boolean;
}

/** What a renewal, a restoration or a trade is of. */
export interface RenewedTerm {
  readonly domainId: string;
  /** Of a renewal: as the registry has it now. */
  readonly fromExpiresAt?: Date;
  /** Called with the name's row once it is locked, before anything is written. Default: it is due. */
  readonly isStillDue?: ((domain: DomainRow) => boolean) | undefined;
}

/** `isStillDue` was false: nothing is written. */
export class TermNotDue extends Error {}

/**
 * Places the order. Throws `already_in_portfolio`, `registration_failed` or `transfer_failed` (another workspace has the
 * name), `renewal_in_progress`, `insufficient_balance`, `idempotency_key_reused` and `TermNotDue`; nothing is written then.
 */
export async function placeOrder(deps: OrderDependencies, purchase: Purchase, term?: RenewedTerm): Promise<Placed> {
  // The loser of a race for a unique row finds the winner's row on the second attempt.
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await deps.db.transaction(async (tx) => {
        const earlier = await findEarlier(deps, tx, purchase.workspaceId, purchase.claim);
        if (earlier !== undefined) return { order: earlier, isNew: false };
        return { order: await insertPurchase(deps, tx, purchase, term), isNew: true };
      });
    } catch (error) {
      if (!(error instanceof NameTaken) && !isUniqueViolation(error)) throw error;
      if (attempt === 2) throw await explainConflict(deps, purchase, term);
    }
  }
}

/** Some workspace has the name, or is acquiring it. */
class NameTaken extends Error {}

function keyOf(claim: IdempotencyClaim): string {
  return `${claim.operation} ${claim.key}`;
}

/** The order of an earlier request of this key that did not fail. Throws `idempotency_key_reused`. */
export async function findEarlier(
  deps: Pick<OrderDependencies, 'clock'>,
  executor: Executor,
  workspaceId: string,
  claim: IdempotencyClaim | undefined,
): Promise<OrderRow | undefined> {
  if (claim === undefined) return undefined;
  const key = keyOf(claim);
  const db = workspaceDb(executor, workspaceId);
  const order = await findOrderByKey(db, key);
  if (order === undefined) return undefined;
  const dayAgo = new Date(deps.clock.now().getTime() - KEY_LIFETIME_MS);
  if (order.ended_at !== null && order.ended_at < dayAgo) {
    await freeKey(db, key, dayAgo);
    return undefined;
  }
  if (order.fingerprint !== claim.fingerprint) throw new ApiError('idempotency_key_reused');
  return order;
}

async function insertPurchase(
  deps: OrderDependencies,
  tx: Transaction,
  purchase: Purchase,
  term: RenewedTerm | undefined,
): Promise<OrderRow> {
  const { workspaceId, kind, origin, name, years, priceCents, instrument, authCode, baseline, claim, fee } = purchase;
  const { claimsAcceptance = null, holder, launchPhase, mark, markCode, signedMark } = purchase;
  const application = launchPhase === undefined ? undefined : purchase.application;
  const { isPriceUnasked = false } = purchase;
  const isSentAtOnce = instrument === undefined && !isPriceUnasked;
  const now = deps.clock.now();
  const lease = new Date(now.getTime() + LEASE_MS);
  const db = workspaceDb(tx, workspaceId);
  const id = mintId('ord');
  const domainId = term === undefined ? await acquire(tx, purchase) : await lockTerm(tx, purchase, term);
  const placing = insertOrder(db, {
    id,
    kind,
    origin,
    domain_id: domainId,
    name,
    years,
    amount_cents: priceCents,
    from_expires_at: term?.fromExpiresAt ?? null,
    pays_with: instrument === undefined ? 'wallet' : 'card',
    sealed_auth_code: authCode === undefined ? null : deps.vault.seal(authCode, authCodeContext(workspaceId, id)),
    baseline: baseline ?? null,
    registry_fee: fee ?? null,
    holder: holder?.registrant ?? null,
    lock_days: holder?.lockDays ?? null,
    price_unasked: isPriceUnasked,
    claims_acceptance: claimsAcceptance,
    signed_mark: signedMark ?? null,
    mark_code: markCode ?? null,
    mark_document: mark ?? null,
    is_application: launchPhase !== undefined,
    launch_phase: launchPhase ?? null,
    application_cents: application?.cents ?? 0,
    application_refunded: application?.isRefunded === true,
    // The command of an order that the wallet pays is sent as soon as this is committed.
    state: instrument === undefined ? 'submitted' : 'paying',
    submissions: isSentAtOnce ? 1 : 0,
    sent_at: isSentAtOnce ? now : null,
    lease_until: lease,
    next_look_at: lease,
    idempotency_key: claim === undefined ? null : keyOf(claim),
    fingerprint: claim?.fingerprint ?? null,
    created_at: now,
  });
  // The name is this order's by now, and so is its zone.
  const [order] = await Promise.all([
    placing,
    kind === 'registration' && openZone(tx, { workspaceId, domainId, name }),
  ]);
  if (instrument === undefined) {
    if (priceCents > 0) {
      const description = describeOrder(order);
      await hold(tx, { workspaceId, orderId: id, amountCents: priceCents, description });
    }
  } else {
    await requireNoDebt(tx, workspaceId);
    await openCharge(deps, tx, order, instrument);
  }
  return order;
}

/** What the vault ties an auth code to. */
export function authCodeContext(workspaceId: string, orderId: string): string {
  return `domains.orders/${workspaceId}/${orderId}`;
}

/** Inserts the name into the workspace's portfolio; a unique index lets one workspace have it. */
async function acquire(tx: Transaction, { workspaceId, kind, name, renewalFee }: Purchase): Promise<string> {
  const domainId = mintId('dom');
  const db = workspaceDb(tx, workspaceId);
  const via = kind === 'transfer' ? 'transfer' : 'registration';
  if (!(await insertAcquisition(db, { id: domainId, name, added_via: via, renewal_fee: renewalFee ?? null })))
    throw new NameTaken(name);
  return domainId;
}

/** Locks the name's row, so that turning auto-renew off and charging for it exclude each other. */
async function lockTerm(tx: Transaction, { kind, workspaceId }: Purchase, term: RenewedTerm): Promise<string> {
  const { domainId, isStillDue } = term;
  const row = await lockDomain(workspaceDb(tx, workspaceId), domainId);
  if (row === undefined || row.state !== 'active') throw new ApiError('not_found');
  if (kind === 'restoration') {
    requireDeleted(row);
    return domainId;
  }
  if (row.deletion_sent_at !== null || row.deletion_wanted_at !== null) {
    throw new ApiError(failureCodeOf(kind), {
      message: `${row.name} is being deleted. Nothing was charged; see GET /domains/${row.name} for what has become of it.`,
    });
  }
  if (isStillDue !== undefined && !isStillDue(row)) throw new TermNotDue(domainId);
  return domainId;
}

/** What is being deleted is restored once that is done. */
function requireDeleted({ deletion_wanted_at: wantedAt, name }: DomainRow): void {
  if (wantedAt === null) return;
  throw new ApiError('pending_operation', {
    message: `The registry has not answered yet that ${name} is deleted. Restore it when GET /domains/${name} says \`Redemption\`.`,
    details: { status: 'pendingDelete' },
  });
}

/** The refusal of a request that lost to another one. */
async function explainConflict(
  deps: OrderDependencies,
  { workspaceId, kind, name }: Purchase,
  term: RenewedTerm | undefined,
): Promise<ApiError> {
  const { db } = deps;
  if (kind === 'restoration') {
    return new ApiError('pending_operation', {
      message: `${name} is being restored already. See GET /orders for what comes of it.`,
      details: { status: 'pendingRestore' },
    });
  }
  if (kind === 'trade') {
    return new ApiError('pending_operation', {
      message: `${name} is getting another holder already. See GET /orders for what comes of it.`,
      details: { status: 'pendingTrade' },
    });
  }
  if (term !== undefined) {
    const live = await findLiveOrder(workspaceDb(db, workspaceId), term.domainId, kind);
    return new ApiError('renewal_in_progress', {
      message: `This term of ${name} is being bought already. Wait until it is done; a later renewal adds a further term.`,
      details: { state: live?.state ?? 'completed', origin: live?.origin ?? 'request' },
    });
  }
  const owner = await findOwner(systemDb(db), name);
  if (owner?.workspace_id === workspaceId) {
    return new ApiError('already_in_portfolio', {
      details: { state: owner.state === 'active' ? 'active' : 'pending' },
    });
  }
  return new ApiError(failureCodeOf(kind), {
    message: `${name} is not available: somebody else has it here, or is buying it at this moment. Nothing was charged.`,
  });
}
