/**
 * What customers are told of a registry's refusal: by what was asked for and the code, never in the registry's words. Those may name accounts,
 * balances and rules of ours; they are for the operator.
 */
import type { MutationOutcome, RejectionCode } from './registry.ts';

export type Refusal = Extract<MutationOutcome, { kind: 'rejected' }>;

/** What was asked for. */
export type RefusedOperation =
  | 'registration'
  | 'renewal'
  | 'transfer'
  | 'restoration'
  | 'trade'
  | 'deletion'
  | 'settings'
  | 'transfer_decision';

type Words = (name: string) => string;
type Table = Readonly<Record<RejectionCode, Words>>;

const general: Table = {
  object_exists: (name) => `${name} is taken.`,
  object_does_not_exist: (name) => `The registry does not have ${name}, or something that this needs.`,
  not_authorized: (name) => `The registry does not let us do this with ${name}: it is with another registrar.`,
  bad_auth_code: (name) => `The auth code is not that of ${name}. Ask its present registrar for a new one.`,
  status_prohibits: (name) => `${name} is locked, or the registry has not finished something else with it.`,
  not_eligible: (name) => `The registry does not do this with ${name} now.`,
  pending_transfer: (name) => `${name} is being transferred. Wait for the end of that.`,
  not_pending_transfer: (name) => `No transfer of ${name} is under way.`,
  wrong_expiry: (name) => `The term of ${name} has changed meanwhile. Look at it, and repeat the call.`,
  policy: (name) => `The rules of the registry do not allow this for ${name}.`,
  in_use: (name) => `Something else at the registry still refers to ${name}.`,
  needs_trade: (name) =>
    `The registry of ${name} takes another holder by a trade alone, which costs something: see \`trade\` of GET /domains/${name}, and buy it with POST /domains/${name}/trade.`,
  no_credit: (name) => `This cannot be done for ${name} now. Repeat the call later.`,
  other: (name) => `The registry does not do this for ${name}.`,
};

const special: Readonly<Record<RefusedOperation, Partial<Table>>> = {
  registration: {
    policy: (name) =>
      `The rules of the registry do not allow ${name} to be registered so: it may be reserved, or meant for others.`,
    not_authorized: (name) => `The registry does not let us register ${name}.`,
  },
  renewal: {
    not_eligible: (name) => `${name} cannot be renewed for so long, or not now.`,
    status_prohibits: (name) => `${name} is in a state in which the registry renews nothing.`,
  },
  transfer: {
    object_does_not_exist: (name) => `The registry has no ${name} that could be transferred.`,
    not_eligible: (name) =>
      `${name} cannot be transferred now: it is with us already, or was registered or transferred a short while ago.`,
    status_prohibits: (name) =>
      `${name} is locked at its present registrar. Have it unlocked there, and repeat the call.`,
    pending_transfer: (name) => `A transfer of ${name} is under way already.`,
  },
  restoration: {
    object_does_not_exist: (name) => `${name} is not at the registry any more: it may be free to be registered again.`,
    not_authorized: (name) => `${name} is with another registrar by now.`,
    status_prohibits: (name) => `${name} cannot be restored: it is not in its redemption period, or that is over.`,
    policy: (name) => `The registry does not restore ${name}.`,
  },
  trade: {
    status_prohibits: (name) =>
      `${name} is locked, or the registry has not finished something else with it. Turn \`registrar_lock\` off and repeat the call.`,
    pending_transfer: (name) => `A change of the holder of ${name} is under way already. Wait for its end.`,
    policy: (name) =>
      `The rules of the registry do not allow ${name} to have that holder. Look at GET /registrant, and repeat the call when it is right.`,
  },
  deletion: {
    status_prohibits: (name) =>
      `${name} is locked, or the registry has not finished something else with it. Turn \`registrar_lock\` off and repeat the call.`,
    policy: (name) => `The rules of the registry do not allow ${name} to be deleted at this time.`,
    in_use: (name) =>
      `Other names have nameservers below ${name}, so it cannot be deleted. Give them others first, and repeat the call.`,
  },
  settings: {},
  transfer_decision: { not_authorized: (name) => `The registry does not let us decide this transfer of ${name}.` },
};

/** A sentence or two. What our own side has found out, before it asked the registry, is told as it is. */
export function explainRefusal(operation: RefusedOperation, name: string, { code, explanation }: Refusal): string {
  return explanation ?? (special[operation][code] ?? general[code])(name);
}

/** Of a command that was taken, and failed later: the registry's message has no code. */
export function explainFailure(operation: 'registration' | 'renewal' | 'transfer' | 'trade', name: string): string {
  const what = {
    registration: `The registry has not registered ${name}`,
    renewal: `The registry has not renewed ${name}`,
    transfer: `The transfer of ${name} was refused by its registrar or the registry`,
    trade: `The change of the holder of ${name} was refused by the registry, or one of both has not consented to it there`,
  };
  return `${what[operation]}.`;
}
