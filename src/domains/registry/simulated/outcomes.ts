/** The registry's replies and messages, as the port's outcomes and messages. */
import type { MutationOutcome, RegistryDomain, RegistryMessage, RegistryTransfer, RejectionCode } from '../registry.ts';
import type { DomainInfo, DomainTransfer, PollMessage, RefusalCode, Reply } from './registry-core.ts';

const rejections: Partial<Record<RefusalCode, RejectionCode>> = {
  2003: 'policy',
  2004: 'policy',
  2005: 'policy',
  2104: 'no_credit',
  2105: 'not_eligible',
  2106: 'not_eligible',
  2201: 'not_authorized',
  2202: 'bad_auth_code',
  2300: 'pending_transfer',
  2301: 'not_pending_transfer',
  2302: 'object_exists',
  2303: 'object_does_not_exist',
  2304: 'status_prohibits',
  2305: 'in_use',
  2306: 'policy',
};

type Refused = Extract<Reply<unknown>, { ok: false }>;

export function rejectionOf({ code, element, reason: said }: Refused): MutationOutcome {
  const reason = `${code}: ${said}`;
  if (element === 'curExpDate') return { kind: 'rejected', code: 'wrong_expiry', reason };
  return { kind: 'rejected', code: rejections[code] ?? 'other', reason };
}

export function outcomeOf(reply: Reply<{ readonly expiresAt: Date } | undefined>): MutationOutcome {
  if (!reply.ok) return rejectionOf(reply);
  if (reply.code === 1001) return { kind: 'pending' };
  if (reply.data === undefined) return { kind: 'completed' };
  return { kind: 'completed', expiresAt: reply.data.expiresAt.toISOString() };
}

export function registryDomainOf(info: DomainInfo, registrarId: string): RegistryDomain {
  return {
    name: info.name,
    registryId: info.roid,
    isOurs: info.sponsor === registrarId,
    // pendingDelete is a status of both RFCs.
    statuses: [...new Set([...info.statuses, ...info.rgpStatuses])],
    createdAt: info.createdAt.toISOString(),
    updatedAt: info.updatedAt?.toISOString() ?? null,
    expiresAt: info.expiresAt.toISOString(),
    nameservers: info.nameservers,
    dsRecords: info.dsRecords,
    isPrivate: info.isPrivate,
  };
}

export function registryTransferOf(transfer: DomainTransfer, registrarId: string): RegistryTransfer {
  const { actedAt, expiresAt, requestedAt, requestedBy, status } = transfer;
  return {
    isOurs: requestedBy === registrarId,
    state: transferStates[status],
    requestedBy,
    requestedAt: requestedAt.toISOString(),
    actsAt: actedAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
  };
}

const transferStates = {
  pending: 'pending',
  clientApproved: 'approved',
  serverApproved: 'approved',
  clientRejected: 'rejected',
  clientCancelled: 'cancelled',
  serverCancelled: 'cancelled',
} as const;

export function registryMessageOf(message: PollMessage, registrarId: string): RegistryMessage {
  const { id, name, queuedAt, text } = message;
  return { id, queuedAt: queuedAt.toISOString(), name, kind: kindOf(message, registrarId), text };
}

function kindOf({ data }: PollMessage, registrarId: string): RegistryMessage['kind'] {
  switch (data.type) {
    case 'pendingAction': {
      const what = data.command === 'create' ? 'registration' : 'renewal';
      return data.succeeded ? `${what}_completed` : `${what}_failed`;
    }
    case 'transfer': {
      const { requestedBy, status } = data.transfer;
      const isOurs = requestedBy === registrarId;
      if (status === 'pending') return 'transfer_requested';
      const isApproved = status === 'clientApproved' || status === 'serverApproved';
      if (isApproved) return isOurs ? 'transfer_completed' : 'transferred_away';
      return isOurs ? 'transfer_failed' : 'transfer_out_ended';
    }
    case 'trade':
      return data.trade.status === 'serverApproved' ? 'trade_completed' : 'trade_failed';
    case 'lifeCycle':
      return data.event === 'deleted' ? 'deleted' : 'notice';
    case 'announcement':
      return 'other';
    case 'lowBalance':
      return 'low_balance';
  }
}
