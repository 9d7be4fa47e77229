/** A change of a name at its registry, with the API's errors. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { mintId } from '../../../kernel/ids/ids.ts';
import { type BackgroundWork, LATE } from '../../background-work.ts';
import {
  type ChangeDependencies,
  dropDone,
  keepWaiting,
  noteChange,
  noteNoCredit,
  type WaitingChange,
} from '../../changes/index.ts';
import { type Deadline, READ_MS } from '../../deadline.ts';
import type { DomainRow } from '../../portfolio/index.ts';
import { explainRefusal, type Refusal } from '../../registry/explain-refusal.ts';
import {
  type MutationOutcome,
  type ReadOptions,
  type Registry,
  type RegistryDomain,
  RegistryUnavailable,
} from '../../registry/registry.ts';

/** RFC 5731 2.3: the registry accepts nothing more before it has finished. */
const UNDER_WAY = ['pendingCreate', 'pendingRenew', 'pendingTransfer', 'pendingUpdate', 'pendingDelete'];

/**
 * What the registry says now of a name that is ours. Throws `pending_at_registry` for one that it does not report yet, and `internal` while it
 * does not answer, or says that it has the name not, or not with us: that is not believed on one answer (missing-names.ts).
 */
export async function readAtRegistry(
  registry: Registry,
  row: DomainRow,
  { timeoutMs = READ_MS, withHosts = false }: ReadOptions = {},
): Promise<RegistryDomain> {
  let info: RegistryDomain | undefined;
  try {
    info = await registry.info(row.name, { timeoutMs, withHosts });
  } catch (error) {
    if (!(error instanceof RegistryUnavailable)) throw error;
    const message = 'The registry does not answer now, and nothing was changed. Repeat the call.';
    throw new ApiError('internal', { message, cause: error });
  }
  const isReported = info?.isOurs === true && !info.statuses.includes('pendingCreate');
  if (row.state === 'active' && info !== undefined && isReported) return info;
  if (row.state === 'active' && row.snapshot !== null) {
    throw notShown(row.name);
  }
  throw new ApiError('pending_at_registry', {
    message: `The registry does not report ${row.name} yet. Repeat the call when GET /domains/${row.name} answers.`,
    details: { addedVia: row.added_via },
  });
}

interface Changing extends ChangeDependencies {
  readonly background: BackgroundWork;
}

/**
 * Changes it; `pending` is done later: by the registry, or sent again where our account there has no credit, or half of the change is done.
 * Throws `pending_operation` while another operation is pending, `bad_request` with the registry's reason, and `internal` when the outcome
 * is not known in time: the call can be repeated then.
 */
export async function updateAtRegistry(
  deps: Changing,
  row: DomainRow,
  { change, info }: { readonly change: WaitingChange; readonly info: RegistryDomain },
  deadline: Deadline,
): Promise<'completed' | 'pending'> {
  const { background } = deps;
  // In place of whatever waits of the same members.
  await noteChange(deps, row, change);
  const outcome = await background.within(send(deps, row, change), deadline.leftMs);
  if (outcome === LATE) throw notKnown('no answer in time');
  if (outcome.kind === 'completed' || outcome.kind === 'pending') return outcome.kind;
  if (isSentAgain(outcome)) return 'pending';
  throw errorOf(outcome, info);
}

async function send(deps: Changing, row: DomainRow, change: WaitingChange): Promise<MutationOutcome> {
  const outcome = await deps.registry.update({ ...change, name: row.name, transactionId: mintId('upd') });
  if (!isSentAgain(outcome)) await dropDone(deps, row, change);
  else {
    await keepWaiting(deps, row, change);
    if (outcome.kind === 'rejected') await noteNoCredit(deps, row);
  }
  return outcome;
}

function isSentAgain(outcome: MutationOutcome): boolean {
  return (
    (outcome.kind === 'rejected' && outcome.code === 'no_credit') ||
    (outcome.kind === 'unknown' && outcome.isHalfDone === true)
  );
}

/** `info` is from just before. */
export function errorOf(
  outcome: Extract<MutationOutcome, { kind: 'rejected' | 'unknown' }>,
  info: RegistryDomain,
): ApiError {
  return outcome.kind === 'unknown' ? notKnown(outcome.reason) : refusalOf(outcome, info);
}

export function notKnown(cause: string): ApiError {
  return new ApiError('internal', {
    message: 'The registry did not answer, so it is not known whether this was changed. Repeat the call.',
    cause,
  });
}

/** The name is in the portfolio, and stays there until that is confirmed. */
function notShown(name: string): ApiError {
  return new ApiError('internal', {
    message: `The registry does not show ${name} as yours now, which may be a mistake of its own. Nothing was changed; repeat the call later.`,
    cause: `the registry says that it does not have ${name} with our account`,
  });
}

function refusalOf(rejection: Refusal, { name, statuses }: RegistryDomain): ApiError {
  const { code, reason } = rejection;
  // It has just shown the name as ours.
  if (code === 'object_does_not_exist') return notShown(name);
  const underWay = statuses.find((status) => UNDER_WAY.includes(status));
  if (code === 'pending_transfer' || (code === 'status_prohibits' && underWay !== undefined)) {
    const status = underWay ?? 'pendingTransfer';
    return new ApiError('pending_operation', {
      message: `The registry has not finished what it does with ${name} (${status}). Repeat the call when that is done.`,
      details: { status },
    });
  }
  if (code === 'status_prohibits' && statuses.includes('clientUpdateProhibited')) {
    return new ApiError('bad_request', {
      message: `${name} is locked, so nothing else of it can be changed. Send \`registrar_lock\`: false along with the change.`,
      param: 'registrar_lock',
      details: { reason: code },
    });
  }
  return new ApiError('bad_request', {
    message: explainRefusal('settings', name, rejection),
    details: { reason: code },
    cause: reason,
  });
}
