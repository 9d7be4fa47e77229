/** Whose a mail domain is: the project's whose record its DNS has. */
import { createHmac } from 'node:crypto';
import type { DnsRecord } from './dkim-key.ts';
import type { LookUpDns } from './read-mail/look-up-dns.ts';

const LABEL = '_ironcraft';
const VALUE_CHARS = 40;
const MISSING = new Set(['ENOTFOUND', 'ENODATA']);

/** The same each time. The world can read it: of the project it tells nothing. */
export function proofRecord(projectId: string, domain: string): DnsRecord {
  const digest = createHmac('sha256', projectId).update(`mail domain\0${domain}`).digest('hex').slice(0, VALUE_CHARS);
  return { type: 'TXT', name: `${LABEL}.${domain}`, value: `ironcraft-domain=${digest}` };
}

/** `unanswered`: the DNS does not say now. */
export async function findProof(
  lookUp: LookUpDns,
  projectId: string,
  domain: string,
): Promise<'proven' | 'missing' | 'unanswered'> {
  const { name, value } = proofRecord(projectId, domain);
  const found = await lookUp(name, 'TXT');
  if (found.kind === 'missing') return MISSING.has(found.code) ? 'missing' : 'unanswered';
  const records: readonly unknown[] = Array.isArray(found.records) ? found.records : [];
  // A record comes in pieces.
  const texts = records.map((pieces) => (Array.isArray(pieces) ? pieces.join('') : ''));
  return texts.some((text) => text.trim() === value) ? 'proven' : 'missing';
}
