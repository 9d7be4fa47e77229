/** Carries out the commands of the host mapping. */
import type { HostInfo } from '../../simulated/index.ts';
import { checkResultsElement } from '../commands/domain-results.ts';
import { createdHostElement, type HostCommand, type HostUpdateCommand, hostDataElement } from '../commands/host.ts';
import { EppFault } from '../epp-fault.ts';
import { HOST } from '../namespaces.ts';
import { type Answer, answerOf, type CommandContext } from './answers.ts';
import { shortReason } from './contact-handlers.ts';

export async function answerHostCommand({ core, session }: CommandContext, command: HostCommand): Promise<Answer> {
  switch (command.kind) {
    case 'host:check':
      return answerOf(await core.checkHosts(session, command.names), (results) => ({
        data: checkResultsElement(HOST, 'name', results.map(shortReason)),
      }));
    case 'host:info':
      return answerOf(await core.infoHost(session, command), (info) => ({ data: hostDataElement(hostData(info)) }));
    case 'host:create':
      return answerOf(await core.createHost(session, command), ({ name, createdAt }) => ({
        data: createdHostElement({ name, createdAt: createdAt.toISOString() }),
      }));
    case 'host:update':
      return answerOf(await core.updateHost(session, updateOf(command)));
    case 'host:delete':
      return answerOf(await core.deleteHost(session, command));
  }
}

function updateOf({ name, add, remove, newName }: HostUpdateCommand) {
  if (newName !== undefined) throw new EppFault(2102, 'hosts keep their names here');
  if ([add, remove].some((items) => (items?.statuses.length ?? 0) > 0)) {
    throw new EppFault(2102, 'hosts have no statuses of their registrar here');
  }
  return { name, addresses: { add: add?.addresses ?? [], remove: remove?.addresses ?? [] } };
}

function hostData(info: HostInfo) {
  return { ...info, createdAt: info.createdAt.toISOString(), updatedAt: info.updatedAt?.toISOString() };
}
