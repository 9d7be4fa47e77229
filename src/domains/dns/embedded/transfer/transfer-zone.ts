/** Zones as a whole (AXFR, RFC 5936), read from the store: never older than what a secondary was told of. */
import type { Database } from '../../../../kernel/db/database.ts';
import type { ZoneContent } from '../../publisher.ts';
import { zoneContent } from '../../zone-content.ts';
import { findZone } from '../../zone-store.ts';
import type { PlacedSet } from '../answer-query.ts';
import { encodeSet, types } from '../encode-set.ts';
import { HEADER_LENGTH, type Query } from '../read-query.ts';
import { writeSections } from '../write-response.ts';

/** Bytes of a message: names in it can be pointed to up to there. */
const MESSAGE_LIMIT = 16_384;
/** Reads of a zone that changes meanwhile. */
const MOST_READS = 5;

/** Undefined: there is no such zone. */
export async function readWholeZone(
  db: Database,
  name: string,
  nameservers: readonly string[],
): Promise<ZoneContent | undefined> {
  for (let reads = 1; ; reads += 1) {
    const zone = await findZone(db, name);
    if (zone === undefined || zone.isClosed || zone.isWithdrawn) return undefined;
    const content = await zoneContent(db, zone, nameservers);
    // Records of a later version under an earlier serial would stay as they are at the secondary.
    if ((await findZone(db, name))?.version === zone.version) return content;
    if (reads === MOST_READS) throw new Error(`the zone ${name} changes faster than it can be read`);
  }
}

/** SOA, everything else, SOA. */
export function writeTransfer(query: Query, content: ZoneContent): Buffer[] {
  const sets = placeSets(content);
  const soa = sets.filter(({ set }) => set.type === types.SOA);
  const records = [...soa, ...sets.filter(({ set }) => set.type !== types.SOA), ...soa].flatMap(({ owner, set }) =>
    set.records.map((record) => ({ owner, set: { ...set, records: [record], size: record.length } })),
  );
  return writeSections(query, records, MESSAGE_LIMIT);
}

function placeSets({ recordSets }: ZoneContent): PlacedSet[] {
  return recordSets.map(({ name, ...set }) => ({ owner: name, set: encodeSet(set) }));
}

/** The serial that a question for IXFR says is known already, in the SOA record of its authority section (RFC 1995 3). */
export function readKnownSerial(message: Buffer, query: Query): number | undefined {
  if (message.readUInt16BE(8) !== 1) return undefined;
  const owner = skipName(message, HEADER_LENGTH + query.question.length);
  if (owner === undefined || owner + 10 > message.length || message.readUInt16BE(owner) !== types.SOA) return undefined;
  const mailbox = skipName(message, owner + 10);
  const serial = mailbox === undefined ? undefined : skipName(message, mailbox);
  return serial === undefined || serial + 4 > message.length ? undefined : message.readUInt32BE(serial);
}

function skipName(message: Buffer, from: number): number | undefined {
  for (let at = from; at < message.length; ) {
    const length = message[at] ?? 0;
    if (length === 0) return at + 1;
    if (length >= 0xc0) return at + 2;
    at += 1 + length;
  }
  return undefined;
}
