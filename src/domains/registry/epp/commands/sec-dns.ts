/** DS records in `secDNS` (RFC 5910), in its data interface for DS; keys are refused. */
import type { DsRecord } from '../../registry.ts';
import { EppFault } from '../epp-fault.ts';
import { SEC_DNS } from '../namespaces.ts';
import { childrenOf, elementsOf, findChild, findText, type XmlElement } from '../xml/element.ts';
import { readBoolean, readInteger, requireText } from './values.ts';

/** `remove` and `all`: what goes, before `add` comes. */
export interface DsChange {
  readonly removeAll?: boolean;
  readonly remove?: readonly DsRecord[];
  readonly add?: readonly DsRecord[];
}

const secDns = elementsOf(SEC_DNS);

function dsData(record: DsRecord): XmlElement {
  return secDns('dsData', [
    secDns('keyTag', String(record.keyTag)),
    secDns('alg', String(record.algorithm)),
    secDns('digestType', String(record.digestType)),
    secDns('digest', record.digest),
  ]);
}

function readDsData(parent: XmlElement): DsRecord[] {
  if (findChild(parent, 'keyData') !== undefined) throw new EppFault(2306, 'DNSSEC data is taken as dsData');
  return childrenOf(parent, 'dsData').map((data) => {
    const digest = requireText(data, 'digest').toUpperCase();
    if (!/^([0-9A-F]{2})+$/.test(digest)) throw new EppFault(2005, 'digest is not hexadecimal');
    return {
      keyTag: readInteger(requireText(data, 'keyTag'), 'keyTag', 0, 65_535),
      algorithm: readInteger(requireText(data, 'alg'), 'alg', 0, 255),
      digestType: readInteger(requireText(data, 'digestType'), 'digestType', 0, 255),
      digest,
    };
  });
}

export function dsCreateElement(records: readonly DsRecord[]): XmlElement {
  return secDns('create', records.map(dsData));
}

/** Of a `create` extension or of an answer's `infData`. */
export function readDsRecords(extension: XmlElement | undefined): DsRecord[] {
  return extension === undefined ? [] : readDsData(extension);
}

export function dsInfoElement(records: readonly DsRecord[]): XmlElement {
  return secDns('infData', records.map(dsData));
}

export function dsUpdateElement(change: DsChange): XmlElement {
  const { removeAll = false, remove = [], add = [] } = change;
  const removal = removeAll ? [secDns('all', 'true')] : remove.map(dsData);
  return secDns('update', [
    removal.length > 0 ? secDns('rem', removal) : undefined,
    add.length > 0 ? secDns('add', add.map(dsData)) : undefined,
  ]);
}

export function readDsUpdate(update: XmlElement): DsChange {
  const removal = findChild(update, 'rem');
  const addition = findChild(update, 'add');
  const all = findText(removal, 'all');
  if (all !== undefined && readBoolean(all, 'all')) {
    return { removeAll: true, ...(addition === undefined ? {} : { add: readDsData(addition) }) };
  }
  return {
    ...(removal === undefined ? {} : { remove: readDsData(removal) }),
    ...(addition === undefined ? {} : { add: readDsData(addition) }),
  };
}
