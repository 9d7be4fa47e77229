/** The registry's message queue, as messages of the port. */
import { type RegistryMessage, UnreadableQueue } from '../registry.ts';
import { isSuccess, MESSAGE_FOLLOWS, NO_MESSAGES, OBJECT_DOES_NOT_EXIST } from '../result-codes.ts';
import { UnreadableAnswer } from './client/errors.ts';
import { readLowBalance } from './commands/balance.ts';
import { readPendingAction, readTransfer } from './commands/domain-results.ts';
import { findApplication } from './commands/launch.ts';
import { findChange, findData, type Response } from './commands/response.ts';
import { findTradeData } from './commands/trade.ts';
import { EppFault } from './epp-fault.ts';
import { DOMAIN, LOW_BALANCE } from './namespaces.ts';
import { isUnsendable, refusalOf } from './outcomes.ts';
import { type RegistryLink, stepOf } from './registry-link.ts';
import { salvageMessage } from './salvage-message.ts';
import { tradeStateOf } from './trade-domain.ts';
import { findText } from './xml/element.ts';

type Kind = RegistryMessage['kind'];

const MAX_SHOWN_ID = 200;

export async function pollMessage(link: RegistryLink) {
  if (link.rules.lacksPoll) return undefined;
  const response = await askNext(link);
  if ('kind' in response) return { message: response, count: 1 };
  if (!isSuccess(response.code)) throw refusalOf(response);
  const { code, queue } = response;
  if (code === NO_MESSAGES || (queue === undefined && code !== MESSAGE_FOLLOWS)) return undefined;
  if (queue === undefined || queue.id === '')
    throw new UnreadableQueue('the answer to a poll has a message without an id');
  const message: RegistryMessage = {
    id: queue.id,
    queuedAt: queue.queuedAt ?? new Date(0).toISOString(),
    text: queue.text ?? '',
    ...describeMessage(response, link.rules.clientId),
  };
  return { message, count: queue.count };
}

/** The message itself where its answer cannot be read, however often it is asked for. Throws `UnreadableQueue` where it has no id. */
async function askNext(link: RegistryLink): Promise<Response | RegistryMessage> {
  try {
    return await link.askRepeatable({ kind: 'poll', operation: 'req' });
  } catch (error) {
    if (!(error instanceof UnreadableAnswer)) throw error;
    const salvaged = salvageMessage(error);
    if (salvaged !== undefined) return salvaged;
    throw new UnreadableQueue(`the answer to a poll cannot be read: ${error.reason}`, error);
  }
}

/** One that is gone was acknowledged before. Throws `UnreadableQueue` for any other refusal, and for an id that no command can hold. */
export async function acknowledgeMessage(link: RegistryLink, messageId: string): Promise<void> {
  const response = await link.askRepeatable({ kind: 'poll', operation: 'ack', messageId }).catch((error: unknown) => {
    if (!isUnsendable(error)) throw error;
    const id = JSON.stringify(messageId.slice(0, MAX_SHOWN_ID));
    throw new UnreadableQueue(`message ${id} cannot be removed: ${error.message}`, error);
  });
  if (!isSuccess(response.code) && response.code !== OBJECT_DOES_NOT_EXIST)
    throw new UnreadableQueue(`message ${messageId} is not removed: ${refusalOf(response).message}`);
}

/** One that cannot be understood must not keep those behind it from being read. */
function describeMessage(response: Response, clientId: string) {
  try {
    return classifyMessage(response, clientId);
  } catch (error) {
    if (!(error instanceof EppFault)) throw error;
    const text = [response.queue?.text, error.message].filter((part) => part !== undefined).join(': ');
    return { name: nameIn(response), kind: 'unreadable', text } as const;
  }
}

/** What a message is about. A name that it does not give is empty. Throws `EppFault` for data that make no sense. */
function classifyMessage(
  response: Response,
  clientId: string,
): Pick<RegistryMessage, 'applicationId' | 'balance' | 'kind' | 'name' | 'transactionId'> {
  const pending = findData(response, DOMAIN, 'panData');
  if (pending !== undefined) {
    const { name, succeeded, clTRID } = readPendingAction(pending);
    const application = findApplication(response.extensions);
    if (application !== undefined)
      return { name, applicationId: application.id, transactionId: clTRID, kind: applicationKind(application.status) };
    return { name, kind: pendingKind(stepOf(clTRID), succeeded) };
  }
  const transfer = findData(response, DOMAIN, 'trnData');
  if (transfer !== undefined) {
    const { name, status, requestedBy } = readTransfer(transfer);
    return { name, kind: transferKind(status, requestedBy === clientId) };
  }
  const trade = findTradeData(response.extensions);
  if (trade !== undefined) return { name: trade.name, kind: tradeKind(trade.status, trade.requestedBy === clientId) };
  const low = findData(response, LOW_BALANCE, 'pollData');
  if (low !== undefined) return { name: '', kind: 'low_balance', balance: readLowBalance(low) };
  // What becomes of an application is told with its name, and its steps too (RFC 8334 2.8).
  const application = findApplication(response.extensions);
  if (application !== undefined) {
    return { name: nameIn(response), applicationId: application.id, kind: applicationKind(application.status) };
  }
  const change = findChange(response.extensions);
  const isPurge = change?.operation === 'autoPurge' || (change?.operation === 'delete' && change.detail === 'purge');
  return { name: nameIn(response), kind: isPurge ? 'deleted' : change === undefined ? 'other' : 'notice' };
}

function nameIn({ data }: Response): string {
  return data?.uri === DOMAIN ? (findText(data, 'name') ?? '').toLowerCase() : '';
}

function applicationKind(status: string | undefined): Kind {
  if (status === 'allocated') return 'registration_completed';
  return status === 'rejected' ? 'registration_failed' : 'notice';
}

/** The step is in the transaction id that we gave the command. */
function pendingKind(step: string | undefined, succeeded: boolean): Kind {
  switch (step) {
    case 'create':
      return succeeded ? 'registration_completed' : 'registration_failed';
    case 'renew':
      return succeeded ? 'renewal_completed' : 'renewal_failed';
    case 'transfer':
      return succeeded ? 'transfer_completed' : 'transfer_failed';
    case 'trade':
      return succeeded ? 'trade_completed' : 'trade_failed';
    case 'delete':
      return succeeded ? 'deleted' : 'notice';
    // Nothing waits for the end of these: each is looked at again by itself.
    case 'update':
    case 'contact':
    case 'host':
    case 'restore':
    case 'decide':
      return 'notice';
    default:
      return 'other';
  }
}

/** A trade of another registrar takes the name there. */
function tradeKind(status: string, isRequestedByUs: boolean): Kind {
  switch (tradeStateOf(status)) {
    case 'approved':
      return isRequestedByUs ? 'trade_completed' : 'transferred_away';
    case 'refused':
      return isRequestedByUs ? 'trade_failed' : 'notice';
    case 'pending':
      return isRequestedByUs ? 'notice' : 'other';
    case undefined:
      return 'other';
  }
}

function transferKind(status: string, isRequestedByUs: boolean): Kind {
  switch (status) {
    case 'clientApproved':
    case 'serverApproved':
      return isRequestedByUs ? 'transfer_completed' : 'transferred_away';
    case 'clientRejected':
    case 'clientCancelled':
    case 'serverCancelled':
      return isRequestedByUs ? 'transfer_failed' : 'transfer_out_ended';
    case 'pending':
      return isRequestedByUs ? 'notice' : 'transfer_requested';
    default:
      return 'other';
  }
}
