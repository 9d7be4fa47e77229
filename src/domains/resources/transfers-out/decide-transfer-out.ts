import { ApiError } from '../../../kernel/http/errors.ts';
import type { HttpReply } from '../../../kernel/http/operation.ts';
import { answerOnce } from '../../answer-once.ts';
import { type BackgroundWork, LATE } from '../../background-work.ts';
import { CHANGE_MS, READ_MS, startDeadline } from '../../deadline.ts';
import type { AnswerStore } from '../../idempotency-store.ts';
import type { WorkspaceTurn } from '../../operation.ts';
import { type DomainRow, ownDomain } from '../../portfolio/index.ts';
import { RegistryUnavailable, type TransferDecision } from '../../registry/registry.ts';
import type { TransferOut } from '../../tables.ts';
import {
  type DecisionEnd,
  lookAtTransfer,
  noteDecision,
  sendDecision,
  type TransferDependencies,
} from '../../transfers-out/index.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { type DecidedTransfer, renderTransferOut } from './schema.ts';

export interface DecideDependencies extends TransferDependencies {
  readonly answers: AnswerStore;
  readonly background: BackgroundWork;
}

type Request = WorkspaceTurn<{ params: { name: string } }>;

/** Throws `not_found`, `transfer_failed` and `pending_operation`. */
export function decideTransferOut(deps: DecideDependencies, decision: TransferDecision) {
  return (request: Request): Promise<HttpReply<DecidedTransfer>> =>
    answerOnce(deps, request, async () => {
      const deadline = startDeadline(CHANGE_MS);
      const row = await ownDomain(workspaceDb(deps.db, request.caller.workspaceId), request.params.name);
      // One that the registry has only just taken in may not be known here yet.
      if (row.state === 'active' && row.transfer_out?.state !== 'pending') await lookSoon(deps, row);
      const noted = await noteDecision(deps, row, decision);
      const known = noted.row.transfer_out;
      if (noted.kind === 'done' && known !== null) return render(row, 'Completed', known);
      const end = await deps.background.within(orUnknown(sendDecision(deps, noted.row, decision)), deadline.leftMs);
      return answer(row, known, end === LATE ? undefined : end);
    });
}

/** Throws `internal` where the registry does not answer soon: whether anybody asks for the name is not known then. */
async function lookSoon(deps: DecideDependencies, row: DomainRow): Promise<void> {
  const look = orUnknown(lookAtTransfer(deps, row).then(() => true));
  if ((await deps.background.within(look, READ_MS)) === true || row.transfer_out !== null) return;
  throw new ApiError('internal', {
    message: `The registry does not answer now, so it is not known whether a registrar asks for ${row.name}. Repeat the call.`,
  });
}

/** Undefined: the registry does not answer. */
async function orUnknown<Value>(work: Promise<Value>): Promise<Value | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof RegistryUnavailable) return undefined;
    throw error;
  }
}

function answer(row: DomainRow, known: TransferOut | null, end: DecisionEnd | undefined): DecidedTransfer {
  if (end?.kind === 'done') return render(row, 'Completed', end.transfer);
  if (end?.kind === 'refused') {
    throw new ApiError('transfer_failed', {
      message: `This was not taken about the transfer of ${row.name}. ${end.explanation}`,
      details: { state: end.transfer.state },
    });
  }
  if (known === null) throw new Error(`a decision about ${row.name} is of no transfer`);
  return render(row, 'Pending', known);
}

function render({ name }: DomainRow, status: DecidedTransfer['status'], transfer: TransferOut): DecidedTransfer {
  return { domain: name, status, transfer_out: renderTransferOut(transfer) };
}
