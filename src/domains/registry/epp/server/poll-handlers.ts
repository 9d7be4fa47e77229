/** The message queue of a registrar (RFC 5730 2.9.2.3). */
import type { PollMessage } from '../../simulated/index.ts';
import { lowBalanceElement } from '../commands/balance.ts';
import type { PollCommand } from '../commands/command.ts';
import { domainDataElement, pendingActionElement, transferElement } from '../commands/domain-results.ts';
import { type Change, changeElement, transactionIdElements } from '../commands/response.ts';
import { CHANGE_POLL, EPP } from '../namespaces.ts';
import { element } from '../xml/element.ts';
import { type Answer, type AnswerParts, agreedExtensions, answerOf, type CommandContext } from './answers.ts';
import { transferData } from './domain-handlers.ts';
import { applicationEndOf } from './launches.ts';
import { tradeExtension } from './trades.ts';

export async function answerPoll(context: CommandContext, command: PollCommand): Promise<Answer> {
  const { core, session } = context;
  if (command.operation === 'ack') {
    return answerOf(await core.acknowledgeMessage(session, command.messageId), ({ count, nextId }) =>
      nextId === undefined ? {} : { queue: { count, id: nextId } },
    );
  }
  const reply = await core.requestMessage(session);
  const found = reply.ok ? reply.data : undefined;
  if (found === undefined) return answerOf(reply);
  const { message, count } = found;
  const parts = await presentMessage(context, message);
  const queue = { count, id: message.id, queuedAt: message.queuedAt.toISOString(), text: message.text };
  return answerOf(reply, () => ({ queue, ...parts }));
}

async function presentMessage(context: CommandContext, message: PollMessage): Promise<AnswerParts> {
  const { data } = message;
  switch (data.type) {
    case 'pendingAction': {
      const ids = element(EPP, 'paTRID', transactionIdElements(data.clTRID, data.svTRID));
      return {
        data: pendingActionElement({ ...data, at: data.at.toISOString() }, ids),
        extensions: applicationEndOf(context, data),
      };
    }
    case 'transfer':
      return { data: transferElement(transferData(data.transfer)) };
    case 'trade':
      return { extensions: tradeExtension(context, data.trade) };
    case 'announcement':
      return {};
    case 'lowBalance':
      return { data: lowBalanceElement({ ...data, registrarName: context.session.registrarId }) };
    case 'lifeCycle':
      // The extension belongs to the data of the name: neither goes without the other.
      return context.extensionUris.has(CHANGE_POLL) ? presentChange(context, message, data.event) : {};
  }
}

type LifeCycleEvent = 'expired' | 'redemption' | 'pendingDelete' | 'deleted';

const changes: Readonly<Record<LifeCycleEvent, Pick<Change, 'operation' | 'detail'>>> = {
  expired: { operation: 'custom', detail: 'expired' },
  redemption: { operation: 'delete', detail: 'redemption' },
  pendingDelete: { operation: 'custom', detail: 'pendingDelete' },
  deleted: { operation: 'delete', detail: 'purge' },
};

/** A deleted name has no ROID any more, but the document needs one. */
const NO_ROID = 'GONE-0';

async function presentChange(context: CommandContext, message: PollMessage, event: LifeCycleEvent) {
  const { name, queuedAt, id } = message;
  const info = await context.core.infoDomain(context.session, { name });
  const change = changeElement({ ...changes[event], at: queuedAt.toISOString(), svTRID: id, who: 'registry' });
  return {
    data: domainDataElement({
      name,
      roid: info.ok ? info.data.roid : NO_ROID,
      statuses: info.ok ? info.data.statuses : [],
      contacts: [],
      subordinateHosts: [],
      sponsor: info.ok ? info.data.sponsor : context.session.registrarId,
    }),
    extensions: agreedExtensions(context, [change]),
  };
}
