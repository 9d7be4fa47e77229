/** Which records may stand beside which: the rules of one zone. */
import { badRecord, shorten } from './bad-record.ts';

export interface PlacedRecord {
  readonly subdomain: string;
  readonly type: string;
  /** Canonical. */
  readonly value: string;
}

/** Records of one zone. */
export const ZONE_LIMIT = 1_000;
const SET_LIMIT = 100;
/** A set is answered as a whole, and an answer has at most 65,535 bytes. */
const SET_TEXT_LIMIT = 32_768;
const NULL_MX = '0 .';

/** Throws `bad_request` where the zone, which has `records`, cannot take this one too. */
export function checkPlacement(records: readonly PlacedRecord[], added: PlacedRecord, zoneName: string): void {
  const beside = records.filter(({ subdomain }) => subdomain === added.subdomain);
  const set = beside.filter(({ type }) => type === added.type);
  if (set.some(({ value }) => value === added.value)) {
    throw badRecord('value', `The zone has this record already: ${describe(added)}.`);
  }
  checkLimits(records, set, added);
  checkAlias(beside, added, zoneName);
  checkApexAlias(beside, added, zoneName);
  checkNullMx(set, added);
  checkDelegations(records, added);
}

function checkLimits(records: readonly PlacedRecord[], set: readonly PlacedRecord[], added: PlacedRecord): void {
  if (records.length >= ZONE_LIMIT) {
    throw badRecord('subdomain', `The zone has ${ZONE_LIMIT} records, which is as many as it may. Delete some first.`);
  }
  if (set.length >= SET_LIMIT) {
    throw badRecord('value', `${added.subdomain} has ${SET_LIMIT} ${added.type} records, which is as many as it may.`);
  }
  const text = set.reduce((sum, { value }) => sum + value.length, added.value.length);
  if (text > SET_TEXT_LIMIT) {
    throw badRecord('value', `The ${added.type} records of ${added.subdomain} would be too long for one answer.`);
  }
}

/** RFC 1034 3.6.2: where there is a CNAME there is nothing else. */
function checkAlias(beside: readonly PlacedRecord[], added: PlacedRecord, zoneName: string): void {
  if (added.type !== 'CNAME') {
    if (beside.some(({ type }) => type === 'CNAME')) {
      throw badRecord('subdomain', `${added.subdomain} is a CNAME and can have no other record. Delete that first.`);
    }
    return;
  }
  if (added.subdomain === '@') {
    throw badRecord(
      'type',
      'The domain’s own name has SOA and NS records, so it can have no CNAME. Use ALIAS, or A and AAAA.',
    );
  }
  if (beside.length > 0) {
    throw badRecord(
      'subdomain',
      `${added.subdomain} has ${beside[0]?.type} records, so it can have no further CNAME. Delete them first.`,
    );
  }
  if (added.value === `${added.subdomain}.${zoneName}.`) throw badRecord('value', 'A CNAME cannot point to itself.');
}

/** ALIAS stands for all addresses of the zone's own name, so it is there once and without others. */
function checkApexAlias(beside: readonly PlacedRecord[], added: PlacedRecord, zoneName: string): void {
  if (added.type !== 'ALIAS') {
    if (isAddress(added.type) && beside.some(({ type }) => type === 'ALIAS')) {
      throw badRecord('type', 'The domain’s own name has the addresses of its ALIAS record. Delete that first.');
    }
    return;
  }
  if (added.subdomain !== '@') {
    throw badRecord('type', 'ALIAS is for the domain’s own name. Use CNAME for names below it.');
  }
  const other = beside.find(({ type }) => type === 'ALIAS' || isAddress(type));
  if (other !== undefined) {
    throw badRecord(
      'type',
      `The domain’s own name has ${describe(other)}, in whose place an ALIAS stands. Delete that first.`,
    );
  }
  if (added.value === `${zoneName}.`) throw badRecord('value', 'An ALIAS cannot point to itself.');
}

/** RFC 7505 3: a null MX stands alone. */
function checkNullMx(set: readonly PlacedRecord[], added: PlacedRecord): void {
  if (added.type !== 'MX' || set.length === 0) return;
  if (added.value === NULL_MX || set.some(({ value }) => value === NULL_MX)) {
    throw badRecord(
      'value',
      `${added.subdomain} has a null MX ("${NULL_MX}") and others at once. Delete what is not meant.`,
    );
  }
}

/** At and below an NS record another zone begins: here only the addresses of its nameservers are served. */
function checkDelegations(records: readonly PlacedRecord[], added: PlacedRecord): void {
  const cut = records.find(({ type, subdomain }) => type === 'NS' && isAtOrBelow(added.subdomain, subdomain));
  const joinsCut = added.type === 'NS' && added.subdomain === cut?.subdomain;
  if (cut !== undefined && !joinsCut && !isAddress(added.type)) {
    throw badRecord(
      'subdomain',
      `${cut.subdomain} is delegated by its NS records: below it there are only A and AAAA records of its nameservers.`,
    );
  }
  if (added.type !== 'NS') return;
  if (added.subdomain === '@') {
    throw badRecord('type', 'The NS records of the domain’s own name are the service’s. Delegate a subdomain instead.');
  }
  if (added.subdomain.startsWith('*')) throw badRecord('subdomain', 'A wildcard cannot be delegated (RFC 4592 4.2).');
  const hidden = records.find(
    ({ type, subdomain }) =>
      isAtOrBelow(subdomain, added.subdomain) && !isAddress(type) && !(type === 'NS' && subdomain === added.subdomain),
  );
  if (hidden !== undefined) {
    throw badRecord('subdomain', `The delegation would hide ${describe(hidden)}. Delete that first.`);
  }
}

function isAtOrBelow(subdomain: string, ancestor: string): boolean {
  return subdomain === ancestor || subdomain.endsWith(`.${ancestor}`);
}

function isAddress(type: string): boolean {
  return type === 'A' || type === 'AAAA';
}

function describe({ subdomain, type, value }: PlacedRecord): string {
  return `${subdomain} ${type} ${shorten(value)}`;
}
