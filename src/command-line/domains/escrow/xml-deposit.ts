/**
 * A deposit as XML (RFC 8909, RFC 9022): of everything, of what has changed since the deposit before (differential), or since the last full
 * one (incremental). Names come first and are written as they are read, each with the hosts below it; their contacts follow, so that those of
 * every name are there. What has gone and how much there is stands before all that, and is known last: the objects are written into a file of
 * their own first.
 */
import { createReadStream } from 'node:fs';
import { type FileHandle, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DomainsSetup } from '../../../domains/boot/setup/read-setup.ts';
import { CommandError } from '../../command-error.ts';
import type { DepositTarget } from './csv-deposit.ts';
import {
  type DepositHeader,
  type DepositType,
  findPrevious,
  hashOfObject,
  INDEX_ENDING,
  type IndexedObject,
  IndexReader,
  IndexWriter,
  type Section,
} from './deposit-index.ts';
import { type DepositedHost, readContacts, readDomains } from './read-pages.ts';
import { hashOf, writeHashes, writeWhole } from './write-whole.ts';
import {
  contactIdOf,
  contactXml,
  type DepositingRegistrar,
  domainXml,
  hostXml,
  isIncomplete,
  registrarIdOf,
  registrarXml,
} from './xml-objects.ts';
import { element, textElement } from './xml-text.ts';

interface XmlTarget extends DepositTarget {
  readonly registrar: NonNullable<DomainsSetup['registrar']>;
  /** How often the agent has refused the deposit of the day. */
  readonly resend: number;
  /** Default: of everything. */
  readonly type?: DepositType;
  /** The index of the deposit that it follows. Default: see `findPrevious`. */
  readonly previous?: string | undefined;
}

const ns = (name: string) => `urn:ietf:params:xml:ns:${name}`;

const NAMESPACES: Readonly<Record<string, string>> = {
  rde: ns('rde-1.0'),
  rdeHeader: ns('rdeHeader-1.0'),
  rdeDomain: ns('rdeDomain-1.0'),
  rdeHost: ns('rdeHost-1.0'),
  rdeContact: ns('rdeContact-1.0'),
  rdeRegistrar: ns('rdeRegistrar-1.0'),
  rdePolicy: ns('rdePolicy-1.0'),
  domain: ns('domain-1.0'),
  contact: ns('contact-1.0'),
  secDNS: ns('secDNS-1.1'),
};

/** RFC 8909, section 5.1: at most 13 word characters, and another for each deposit. */
function idOf(type: DepositType, { resend, watermark }: { readonly resend: number; readonly watermark: Date }): string {
  const day = watermark.toISOString().slice(0, 10).replaceAll('-', '');
  return `${day}${String(resend).padStart(3, '0')}${{ full: '', diff: 'D', incr: 'I' }[type]}`;
}

export async function writeXmlDeposit(target: XmlTarget) {
  const { folder, ianaId, registrar: identity, resend, type = 'full', watermark } = target;
  const { abuse_email: email, abuse_phone: phone, name, url } = identity;
  const registrar: DepositingRegistrar = { ianaId, name, email, phone, url };
  const day = watermark.toISOString().slice(0, 10);
  const file = join(folder, `${ianaId}_RDE_${day}_${type}_${resend}.xml`);
  const id = idOf(type, { resend, watermark });
  const header: DepositHeader = { id, type, watermark: watermark.toISOString(), iana_id: ianaId };
  const previous = type === 'full' ? undefined : await openPrevious(target, type);
  const [spool, index] = [`${file}.objects`, `${file}${INDEX_ENDING}`];
  // One of a deposit that this one replaces: until it is whole none follows it.
  await rm(index, { force: true });
  try {
    const comparison = new Comparison(previous);
    const totals = await writeWhole(spool, (objects) =>
      writeWhole(`${index}.new`, (part) =>
        writeObjects({ objects, index: new IndexWriter(part, header), comparison }, target, registrar),
      ),
    );
    const { gone, rows } = comparison;
    await writeWhole(file, async (part) => {
      await part.appendFile(openingOf({ header, resend, previousId: previous?.header.id }));
      await part.appendFile(`${deletesOf(gone)}<rde:contents>\n${headerOf(ianaId, totals)}`);
      for await (const chunk of createReadStream(spool)) await part.appendFile(chunk as Buffer);
      await part.appendFile(`${POLICY}\n</rde:contents>\n</rde:deposit>\n`);
    });
    const written = { file, sha256: await hashOf(file), rows };
    const hashFile = `${file}.sha256`;
    await writeHashes(hashFile, [written]);
    await rename(`${index}.new`, index);
    return {
      ...{ files: [written], hash_file: hashFile, index_file: index },
      ...{ id, previous_id: previous?.header.id ?? null, type, watermark: header.watermark, resend },
      ...{
        domains: totals.domains,
        hosts: totals.hosts,
        contacts: totals.contacts,
        deleted: gone.names.length + gone.contacts.length,
      },
      incomplete_contacts: totals.incomplete,
    };
  } finally {
    await previous?.close();
    await Promise.all([spool, `${index}.new`].map((part) => rm(part, { force: true })));
  }
}

/** Throws `CommandError` where there is none, or it is of another registrar or of the future. */
async function openPrevious(
  { folder, ianaId, previous, resend, watermark }: XmlTarget,
  type: DepositType,
): Promise<IndexReader> {
  const file = previous ?? (await findPrevious(folder, { ianaId, type, watermark }));
  const reader = await IndexReader.open(file);
  const { iana_id: owner, id, type: of, watermark: before } = reader.header;
  const problem =
    owner !== ianaId
      ? `it is of the registrar ${owner}`
      : id === idOf(type, { resend, watermark })
        ? 'it is of the deposit that this one replaces'
        : before >= watermark.toISOString()
          ? `it is of ${before}, which is not before this one`
          : type === 'incr' && of !== 'full'
            ? 'an incremental deposit follows a full one, which it is not of'
            : undefined;
  if (problem === undefined) return reader;
  await reader.close();
  throw new CommandError(`${file} cannot be followed: ${problem}. Name another index with --previous.`);
}

/** What is to be written of what there is, and what has gone. */
class Comparison {
  readonly #previous: IndexReader | undefined;
  /** Keys, as in the index. */
  readonly gone: Readonly<Record<Section, string[]>> = { names: [], contacts: [] };
  /** Objects that are written. */
  rows = 0;

  constructor(previous: IndexReader | undefined) {
    this.#previous = previous;
  }

  /** Whether the object is new, or another than before. */
  async isNews({ hash, key, section }: IndexedObject): Promise<boolean> {
    const before = await this.#previous?.advanceTo(section, key);
    this.gone[section].push(...(before?.gone ?? []));
    const isNews = before?.hash !== hash;
    if (isNews) this.rows += 1;
    return isNews;
  }

  async end(section: Section): Promise<void> {
    this.gone[section].push(...((await this.#previous?.restOf(section)) ?? []));
  }
}

interface Sinks {
  readonly objects: FileHandle;
  readonly index: IndexWriter;
  readonly comparison: Comparison;
}

interface Totals {
  domains: number;
  hosts: number;
  contacts: number;
  incomplete: number;
}

/** The registrar stands in each deposit. */
async function writeObjects(
  { comparison, index, objects }: Sinks,
  { verbs, watermark }: XmlTarget,
  registrar: DepositingRegistrar,
): Promise<Totals> {
  const totals: Totals = { domains: 0, hosts: 0, contacts: 0, incomplete: 0 };
  const registrarId = registrarIdOf(registrar);
  const put = async (section: Section, page: readonly { readonly key: string; readonly xml: string }[]) => {
    let text = '';
    for (const { key, xml } of page) {
      const object = { section, key, hash: hashOfObject(xml) };
      index.add(object);
      if (await comparison.isNews(object)) text += `${xml}\n`;
    }
    await Promise.all([objects.appendFile(text), index.flush()]);
  };
  await objects.appendFile(`${registrarXml(registrar)}\n`);
  for await (const page of readDomains(verbs)) {
    await put(
      'names',
      page.flatMap((domain) => [
        { key: domain.name, xml: domainXml(domain, registrarId) },
        ...sorted(domain.hosts).map((host) => ({
          key: `${domain.name} ${host.name}`,
          xml: hostXml(host, registrarId),
        })),
      ]),
    );
    totals.domains += page.length;
    totals.hosts += page.reduce((sum, { hosts }) => sum + hosts.length, 0);
  }
  await comparison.end('names');
  for await (const page of readContacts(verbs, watermark)) {
    await put(
      'contacts',
      page.map((contact) => ({ key: contact.handle, xml: contactXml(contact, registrarId) })),
    );
    totals.contacts += page.length;
    totals.incomplete += page.filter(isIncomplete).length;
  }
  await comparison.end('contacts');
  return totals;
}

function sorted(hosts: readonly DepositedHost[]): DepositedHost[] {
  return hosts.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

interface Opening {
  readonly header: DepositHeader;
  readonly resend: number;
  readonly previousId: string | undefined;
}

function openingOf({ header: { id, type, watermark }, previousId, resend }: Opening): string {
  const names = Object.entries(NAMESPACES).map(([prefix, uri]) => ` xmlns:${prefix}="${uri}"`);
  const objects = ['rdeHeader', 'rdeRegistrar', 'rdeDomain', 'rdeHost', 'rdeContact', 'rdePolicy'].map((prefix) =>
    textElement('rde:objURI', NAMESPACES[prefix]),
  );
  const previous = previousId === undefined ? '' : ` prevId="${previousId}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<rde:deposit type="${type.toUpperCase()}" id="${id}"${previous} resend="${resend}"${names.join('')}>`,
    textElement('rde:watermark', watermark),
    element('rde:rdeMenu', [textElement('rde:version', '1.0'), ...objects]),
    '',
  ].join('\n');
}

/** Empty where nothing has gone. */
function deletesOf({ contacts, names }: Comparison['gone']): string {
  const hosts = names.flatMap((key) => key.split(' ').slice(1));
  const domains = names.filter((key) => !key.includes(' '));
  const deleted = [
    deleteElement('rdeDomain', 'name', domains),
    deleteElement('rdeHost', 'name', hosts),
    deleteElement('rdeContact', 'id', contacts.map(contactIdOf)),
  ].filter((text) => text !== '');
  return deleted.length === 0 ? '' : `${element('rde:deletes', deleted)}\n`;
}

function deleteElement(prefix: string, member: string, values: readonly string[]): string {
  if (values.length === 0) return '';
  return element(
    `${prefix}:delete`,
    values.map((value) => textElement(`${prefix}:${member}`, value)),
  );
}

/** Of all that there is at the watermark, whatever the deposit has of it. */
function headerOf(ianaId: string, { contacts, domains, hosts }: Totals): string {
  const counted = { rdeDomain: domains, rdeHost: hosts, rdeContact: contacts, rdeRegistrar: 1 };
  const elements = Object.entries(counted).map(([prefix, count]) =>
    textElement('rdeHeader:count', String(count), { uri: NAMESPACES[prefix] ?? '' }),
  );
  return `${element('rdeHeader:header', [textElement('rdeHeader:registrar', ianaId), ...elements])}\n`;
}

/** RFC 9022, section 5.8: more than the schema demands, a name has its registrant. */
const POLICY = element('rdePolicy:policy', [], {
  scope: '//rde:deposit/rde:contents/rdeDomain:domain',
  element: 'rdeDomain:registrant',
});
