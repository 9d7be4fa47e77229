import { absoluteName, isRecordType, type StoredRecord } from '../../dns/index.ts';
import type { DnsRecord } from './schema.ts';

/** The public shape of a row. */
export function renderRecord(zoneName: string, row: StoredRecord): DnsRecord {
  const { id, subdomain, type, value, ttl, created_at } = row;
  if (!isRecordType(type)) throw new Error(`the record ${id} is of an unknown type`);
  const name = absoluteName(subdomain, zoneName);
  return { id, subdomain, name, type, value, ttl, managed: false, created_at: created_at.toISOString() };
}
