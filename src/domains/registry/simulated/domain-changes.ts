/** What an update of the port changes at the registry. */
import type { UpdateCommand } from '../registry.ts';
import { keyOfDsRecord } from './domain-links.ts';
import type { ClientStatus, DomainInfo, UpdateDomain } from './registry-core.ts';

/** The registrar lock. */
const lock: readonly ClientStatus[] = ['clientDeleteProhibited', 'clientTransferProhibited', 'clientUpdateProhibited'];

/** Only what differs: nothing for an update that was carried out before. `registrant`: a new contact's id. */
export function changesOf(
  domain: DomainInfo,
  command: UpdateCommand,
  registrant: string | undefined,
): Omit<UpdateDomain, 'name'> {
  const { authCode, dsRecords, locked, nameservers } = command;
  const statuses = lock.filter((status) => domain.statuses.includes(status) !== locked);
  return {
    ...(locked === undefined || statuses.length === 0
      ? {}
      : { statuses: locked ? { add: statuses } : { remove: statuses } }),
    ...(nameservers === undefined || isSameSet(nameservers, domain.nameservers)
      ? {}
      : { nameservers: { set: nameservers } }),
    ...(dsRecords === undefined || isSameSet(dsRecords.map(keyOfDsRecord), domain.dsRecords.map(keyOfDsRecord))
      ? {}
      : { dsRecords: { set: dsRecords } }),
    ...(registrant === undefined ? {} : { registrant }),
    ...(authCode === undefined || authCode === domain.authInfo ? {} : { authInfo: authCode }),
  };
}

function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  const texts = (items: readonly string[]) => [...new Set(items.map((item) => item.toLowerCase()))].sort().join('\n');
  return texts(a) === texts(b);
}
