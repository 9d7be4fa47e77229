/**
 * A name of ours that another registrar asks for. The registry is the authority: messages and sweeps only say when to ask it, so one that
 * comes late, twice or out of order changes nothing.
 *
 *                       approved by its owner, or by the registry at `actsAt`
 *   asked for ─▶ pending ─────────────────────────────▶ approved: the name is missing from then on, and retired as such
 *                   ├─ rejected by its owner ─────────▶ rejected
 *                   └─ taken back, or by the registry ▶ cancelled
 *
 * A decision is noted before it is sent, and sent again until the transfer has ended or the registry has refused it. The owner is told by mail
 * of each state. See portfolio/missing-names.ts for how the name leaves, and dns/delegation for its zone.
 */
import type { Registry, RegistryDomain } from '../registry/registry.ts';
import type { TransferOut } from '../tables.ts';

/** What ended so long ago is no news: it may be from before we had the name. */
const NEWS_MS = 30 * 86_400_000;

/**
 * What the registry says of a name's transfer to another registrar; undefined: nothing. A registry that does not tell of transfers is
 * believed by the status of the name. Throws `RegistryUnavailable`.
 */
export async function readTransferOut(
  registry: Pick<Registry, 'info' | 'transferOf'>,
  name: string,
  known: TransferOut | null,
  now: Date,
): Promise<TransferOut | undefined> {
  const transfer = await registry.transferOf(name);
  if (transfer !== undefined) {
    const { isOurs, state, requestedBy, requestedAt, actsAt } = transfer;
    return isOurs ? undefined : { state, requestedBy, requestedAt, actsAt, decision: null, refusal: null };
  }
  return statusAsTransfer(await registry.info(name), known, now);
}

/** `known` where the registry shows nothing that could be believed. */
function statusAsTransfer(
  info: RegistryDomain | undefined,
  known: TransferOut | null,
  now: Date,
): TransferOut | undefined {
  const pending = known?.state === 'pending' ? known : undefined;
  // That it is another's proves nothing where only the refusal (2201) says so.
  if (info === undefined || info.registryId === '') return known ?? undefined;
  if (!info.isOurs) return pending === undefined ? (known ?? undefined) : { ...pending, state: 'approved' };
  if (!info.statuses.includes('pendingTransfer')) {
    if (pending === undefined) return known ?? undefined;
    return { ...pending, state: pending.decision === 'reject' ? 'rejected' : 'cancelled' };
  }
  const unknown = { requestedBy: null, requestedAt: now.toISOString(), actsAt: null, decision: null, refusal: null };
  return pending ?? { ...unknown, state: 'pending' };
}

/** What is known after the registry has been asked; `known` itself where that is nothing new. */
export function mergeTransferOut(
  known: TransferOut | null,
  seen: TransferOut | undefined,
  now: Date,
): TransferOut | null {
  if (seen === undefined) return known;
  if (known === null) return isPending(seen) || isNews(seen, now) ? seen : null;
  const askedAt = new Date(seen.requestedAt).getTime();
  const isSame = askedAt === new Date(known.requestedAt).getTime() || (known.requestedBy === null && isPending(known));
  if (!isSame) return askedAt > new Date(known.requestedAt).getTime() ? seen : known;
  // What has ended does not begin again.
  if (!isPending(known) && isPending(seen)) return known;
  const { decision, refusal } = known;
  const merged = { ...seen, decision, refusal };
  return isSameTransfer(merged, known) ? known : merged;
}

function isNews({ actsAt }: TransferOut, now: Date): boolean {
  return actsAt !== null && new Date(actsAt).getTime() > now.getTime() - NEWS_MS;
}

function isSameTransfer(one: TransferOut, other: TransferOut): boolean {
  return (
    one.state === other.state &&
    one.requestedBy === other.requestedBy &&
    one.requestedAt === other.requestedAt &&
    one.actsAt === other.actsAt
  );
}

export function isPending({ state }: TransferOut): boolean {
  return state === 'pending';
}
