/** Transfers of names to other registrars: see transfer-out.ts. */

export { type DecisionEnd, noteDecision, sendDecision } from './decide-transfer.ts';
export { lookAtTransfer, type TransferDependencies } from './look-at-transfer.ts';
export { watchTransfers } from './watch-transfers.ts';
