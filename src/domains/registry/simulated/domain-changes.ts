/** What an update of the port changes at the registry. */
import type { UpdateCommand } from '../registry.ts';
import { keyOfDsRecord } from './domain-links.ts';
import type { ClientStatus, DomainInfo, UpdateDomain } from './registry-core.ts';

/** The registrar lock. */
const lock: readonly ClientStatus[] = ['clientDeleteProhibited', 'clientTransferProhibited', 'clientUpdateProhibited'];

type StatusChange = { readonly add: ClientStatus[]; readonly remove: ClientStatus[] };
export type Changes = Omit<UpdateDomain, 'name' | 'statuses'> & { readonly statuses?: StatusChange };

/** Only what differs: nothing for an update that was carried out before. `registrant`: a new contact's id. */
export function changesOf(domain: DomainInfo, command: UpdateCommand, registrant: string | undefined): Changes {
  const { authCode, dsRecords, nameservers } = command;
  const statuses = statusesOf(domain, command);
  return {
    ...(statuses === undefined ? {} : { statuses }),
    ...(nameservers === undefined || isSameSet(nameservers, domain.nameservers)
      ? {}
      : { nameservers: { set: nameservers } }),
    ...(dsRecords === undefined || isSameSet(dsRecords.map(keyOfDsRecord), domain.dsRecords.map(keyOfDsRecord))
      ? {}
      : { dsRecords: { set: dsRecords } }),
    ...(registrant === undefined ? {} : { registrant }),
    ...(authCode === undefined || authCode === domain.authInfo ? {} : { authInfo: authCode ?? '' }),
  };
}

/** What undoes these changes of the name as it was: all but a new registrant and auth code, which nothing follows that may be refused. */
export function takenBack(domain: DomainInfo, { dsRecords, nameservers, statuses }: Changes): Changes {
  return {
    ...(statuses === undefined ? {} : { statuses: { add: statuses.remove, remove: statuses.add } }),
    ...(nameservers === undefined ? {} : { nameservers: { set: domain.nameservers } }),
    ...(dsRecords === undefined ? {} : { dsRecords: { set: domain.dsRecords } }),
  };
}

/** Undefined where none differs. */
function statusesOf(domain: DomainInfo, { held, locked, transferLocked }: UpdateCommand): StatusChange | undefined {
  const wanted = [
    ...(locked === undefined ? [] : lock.map((status) => [status, locked] as const)),
    ...(transferLocked === true ? [['clientTransferProhibited', true] as const] : []),
    ...(held === undefined ? [] : [['clientHold', held] as const]),
  ];
  const differing = wanted.filter(([status, isSet]) => domain.statuses.includes(status) !== isSet);
  if (differing.length === 0) return undefined;
  const where = (set: boolean) => differing.flatMap(([status, isSet]) => (isSet === set ? [status] : []));
  return { add: where(true), remove: where(false) };
}

function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  const texts = (items: readonly string[]) => [...new Set(items.map((item) => item.toLowerCase()))].sort().join('\n');
  return texts(a) === texts(b);
}
