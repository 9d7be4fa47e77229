/** A deposit as ICANN has its registrars make it: files of names and of contacts, and one of their hashes. */
import { join } from 'node:path';
import {
  type DepositedContact,
  type DepositedDomain,
  type EscrowVerbs,
  readContacts,
  readDomains,
} from './read-pages.ts';
import { hashOf, writeHashes, writeWhole } from './write-whole.ts';

export interface DepositTarget {
  readonly folder: string;
  readonly ianaId: string;
  /** The moment that the deposit shows. */
  readonly watermark: Date;
  readonly verbs: EscrowVerbs;
}

export interface WrittenFile {
  readonly file: string;
  readonly sha256: string;
  readonly rows: number;
}

const DOMAIN_COLUMNS = [
  'domain',
  'expiration_date',
  'nameservers',
  'holder_contact',
  'admin_contact',
  'tech_contact',
  'billing_contact',
];
const CONTACT_COLUMNS = [
  'handle',
  'name',
  'organization',
  'street',
  'city',
  'state',
  'postal_code',
  'country',
  'email',
  'phone',
];

export async function writeCsvDeposit({ folder, ianaId, verbs, watermark }: DepositTarget) {
  const pathOf = (kind: string) => join(folder, `${ianaId}_RDE_${watermark.toISOString().slice(0, 10)}_${kind}_0`);
  // Contacts come last, so that those of every name are there.
  const files = [
    await writeCsv(pathOf('full'), DOMAIN_COLUMNS, readDomains(verbs), domainRow),
    await writeCsv(pathOf('hdl'), CONTACT_COLUMNS, readContacts(verbs, watermark), contactRow),
  ];
  const hashFile = pathOf('hash');
  await writeHashes(hashFile, files);
  return { files, hash_file: hashFile };
}

async function writeCsv<Row>(
  file: string,
  columns: readonly string[],
  pages: AsyncIterable<readonly Row[]>,
  rowOf: (row: Row) => readonly string[],
): Promise<WrittenFile> {
  let rows = 0;
  await writeWhole(file, async (part) => {
    await part.appendFile(lineOf(columns));
    for await (const page of pages) {
      await part.appendFile(page.map((row) => lineOf(rowOf(row))).join(''));
      rows += page.length;
    }
  });
  return { file, sha256: await hashOf(file), rows };
}

function domainRow({ expires_at: expiresAt, name, nameservers, registrant }: DepositedDomain): readonly string[] {
  const expiry = expiresAt === null ? '' : expiresAt.slice(0, 19).replace('T', ' ');
  return [name, expiry, nameservers.join(' '), registrant, registrant, registrant, registrant];
}

function contactRow(contact: DepositedContact): readonly string[] {
  const { city, country, email, handle, name, organization, phone, postal_code: code, region, street } = contact;
  return [handle, name, organization, street, city, region, code, country, email, phone];
}

/** RFC 4180. */
function lineOf(row: readonly string[]): string {
  return `${row.map((value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value)).join(',')}\n`;
}
