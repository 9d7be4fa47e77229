/** DNSSEC data in `secDNS` (RFC 5910): by its interface for DS records, or by that for keys, of which the registry makes DS records itself. */
import { dsRecordOf } from '../../dns-key.ts';
import type { DnsKey, DsRecord } from '../../registry.ts';
import { EppFault } from '../epp-fault.ts';
import { SEC_DNS } from '../namespaces.ts';
import { childrenOf, elementsOf, findChild, findText, type XmlElement } from '../xml/element.ts';
import { readBoolean, readInteger, requireText } from './values.ts';

/** A registry has one of them (RFC 5910 4). */
export type DnssecInterface = 'dsData' | 'keyData';

/** `remove` and `removeAll`: what goes, before `add` comes. All of the interface for keys have one. */
export interface DsChange {
  /** Undefined in what is read where no record says it. */
  readonly by: DnssecInterface | undefined;
  readonly removeAll?: boolean;
  readonly remove?: readonly DsRecord[];
  readonly add?: readonly DsRecord[];
}

interface DnssecData {
  readonly by: DnssecInterface | undefined;
  readonly records: readonly DsRecord[];
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

/** Nothing of a record without a key. */
function keyData({ algorithm, key }: DsRecord): XmlElement[] {
  if (key === undefined) return [];
  return [
    secDns('keyData', [
      secDns('flags', String(key.flags)),
      secDns('protocol', '3'),
      secDns('alg', String(algorithm)),
      secDns('pubKey', key.publicKey),
    ]),
  ];
}

function dataElements(records: readonly DsRecord[], by: DnssecInterface | undefined): XmlElement[] {
  return by === 'keyData' ? records.flatMap(keyData) : records.map(dsData);
}

function readData(parent: XmlElement, name: string): DnssecData {
  const digests = childrenOf(parent, 'dsData');
  const keys = childrenOf(parent, 'keyData');
  if (digests.length > 0 && keys.length > 0)
    throw new EppFault(2001, `${parent.local} holds dsData or keyData, not both`);
  if (keys.length > 0) return { by: 'keyData', records: keys.map((data) => readKeyData(data, name)) };
  return { by: digests.length > 0 ? 'dsData' : undefined, records: digests.map(readDsData) };
}

function readDsData(data: XmlElement): DsRecord {
  const digest = requireText(data, 'digest').replaceAll(/\s/g, '').toUpperCase();
  if (!/^([0-9A-F]{2})+$/.test(digest)) throw new EppFault(2005, 'digest is not hexadecimal');
  return {
    keyTag: readInteger(requireText(data, 'keyTag'), 'keyTag', 0, 65_535),
    algorithm: readInteger(requireText(data, 'alg'), 'alg', 0, 255),
    digestType: readInteger(requireText(data, 'digestType'), 'digestType', 0, 255),
    digest,
  };
}

function readKeyData(data: XmlElement, name: string): DsRecord {
  if (requireText(data, 'protocol') !== '3') throw new EppFault(2004, 'the protocol of a key is 3');
  const publicKey = requireText(data, 'pubKey').replaceAll(/\s/g, '');
  if (!isBase64(publicKey)) throw new EppFault(2005, 'pubKey is not in base64');
  const key: DnsKey = { flags: readInteger(requireText(data, 'flags'), 'flags', 0, 65_535), publicKey };
  return dsRecordOf(name, readInteger(requireText(data, 'alg'), 'alg', 0, 255), key);
}

function isBase64(text: string): boolean {
  return text !== '' && Buffer.from(text, 'base64').toString('base64') === text;
}

export function dsCreateElement(records: readonly DsRecord[]): XmlElement {
  return secDns('create', records.map(dsData));
}

/** Of a `create` extension or of an answer's `infData`, about that name. */
export function readDsRecords(extension: XmlElement | undefined, name: string): readonly DsRecord[] {
  return extension === undefined ? [] : readData(extension, name).records;
}

export function dsInfoElement(records: readonly DsRecord[], by: DnssecInterface): XmlElement {
  return secDns('infData', dataElements(records, by));
}

export function dsUpdateElement(change: DsChange): XmlElement {
  const { add = [], by, removeAll = false, remove = [] } = change;
  const removal = removeAll ? [secDns('all', 'true')] : dataElements(remove, by);
  return secDns('update', [
    removal.length > 0 ? secDns('rem', removal) : undefined,
    add.length > 0 ? secDns('add', dataElements(add, by)) : undefined,
  ]);
}

/** Of the name that the update is of. */
export function readDsUpdate(update: XmlElement, name: string): DsChange {
  const removal = findChild(update, 'rem');
  const addition = findChild(update, 'add');
  const add = addition === undefined ? undefined : readData(addition, name);
  const added = add === undefined ? {} : { add: add.records };
  const all = findText(removal, 'all');
  if (all !== undefined && readBoolean(all, 'all')) return { by: add?.by, removeAll: true, ...added };
  const remove = removal === undefined ? undefined : readData(removal, name);
  if (add?.by !== undefined && remove?.by !== undefined && add.by !== remove.by) {
    throw new EppFault(2001, 'update holds dsData or keyData, not both');
  }
  return { by: add?.by ?? remove?.by, ...(remove === undefined ? {} : { remove: remove.records }), ...added };
}
