import type { ApiError } from '../../../kernel/http/errors.ts';
import { isRecordType, type NamedRecord } from '../../dns/index.ts';
import type { DnsRecordNamed } from './schema.ts';

/** Throws what `refuse` makes of the first member that is missing. */
export function requireNamed<Given extends DnsRecordNamed>(
  given: Given,
  refuse: (param: string, message: string) => ApiError,
): Given & NamedRecord {
  const { subdomain, type, value } = given;
  if (subdomain === undefined) throw refuse('subdomain', '`subdomain` is required.');
  if (type === undefined || !isRecordType(type)) throw refuse('type', '`type` is required.');
  if (value === undefined) throw refuse('value', '`value` is required.');
  return { ...given, subdomain, type, value };
}
