/**
 * A full deposit as XML (RFC 8909, RFC 9022). Names come first and are written as they are read; their contacts follow, so that those of every
 * name are there. The header before them says how many there are of each: it has the same length whatever the numbers, and is written over once they are known.
 */
import { join } from 'node:path';
import type { DomainsSetup } from '../../../domains/boot/setup/read-setup.ts';
import type { DepositTarget } from './csv-deposit.ts';
import { readContacts, readDomains } from './read-pages.ts';
import { hashOf, writeHashes, writeWhole } from './write-whole.ts';
import {
  contactXml,
  type DepositingRegistrar,
  domainXml,
  isIncomplete,
  registrarIdOf,
  registrarXml,
} from './xml-objects.ts';
import { element, textElement } from './xml-text.ts';

interface XmlTarget extends DepositTarget {
  readonly registrar: NonNullable<DomainsSetup['registrar']>;
  /** How often the agent has refused the deposit of the day. */
  readonly resend: number;
}

interface Counts {
  domains: number;
  contacts: number;
}

const ns = (name: string) => `urn:ietf:params:xml:ns:${name}`;

const NAMESPACES: Readonly<Record<string, string>> = {
  rde: ns('rde-1.0'),
  rdeHeader: ns('rdeHeader-1.0'),
  rdeDomain: ns('rdeDomain-1.0'),
  rdeContact: ns('rdeContact-1.0'),
  rdeRegistrar: ns('rdeRegistrar-1.0'),
  rdePolicy: ns('rdePolicy-1.0'),
  domain: ns('domain-1.0'),
  contact: ns('contact-1.0'),
  secDNS: ns('secDNS-1.1'),
};

/** As many digits as any number of names has. */
const COUNT_WIDTH = 12;

export async function writeXmlDeposit({ folder, ianaId, registrar: identity, resend, verbs, watermark }: XmlTarget) {
  const { abuse_email: email, abuse_phone: phone, name, url } = identity;
  const registrar: DepositingRegistrar = { ianaId, name, email, phone, url };
  const day = watermark.toISOString().slice(0, 10);
  const file = join(folder, `${ianaId}_RDE_${day}_full_${resend}.xml`);
  // RFC 8909, section 5.1: at most 13 word characters, and another for each deposit.
  const id = `${day.replaceAll('-', '')}${String(resend).padStart(3, '0')}`;
  const counts: Counts = { domains: 0, contacts: 0 };
  let incomplete = 0;
  await writeWhole(file, async (part) => {
    const opening = openingOf({ id, resend, watermark });
    await part.appendFile(`${opening}${headerOf(ianaId, counts)}${registrarXml(registrar)}\n`);
    const registrarId = registrarIdOf(registrar);
    for await (const page of readDomains(verbs)) {
      await part.appendFile(page.map((domain) => `${domainXml(domain, registrarId)}\n`).join(''));
      counts.domains += page.length;
    }
    for await (const page of readContacts(verbs, watermark)) {
      await part.appendFile(page.map((contact) => `${contactXml(contact, registrarId)}\n`).join(''));
      counts.contacts += page.length;
      incomplete += page.filter(isIncomplete).length;
    }
    await part.appendFile(`${POLICY}\n</rde:contents>\n</rde:deposit>\n`);
    await part.write(headerOf(ianaId, counts), Buffer.byteLength(opening));
  });
  const written = { file, sha256: await hashOf(file), rows: counts.domains + counts.contacts };
  const hashFile = `${file}.sha256`;
  await writeHashes(hashFile, [written]);
  const about = { id, watermark: watermark.toISOString(), resend, ...counts, incomplete_contacts: incomplete };
  return { files: [written], hash_file: hashFile, ...about };
}

interface Opening {
  readonly id: string;
  readonly resend: number;
  readonly watermark: Date;
}

function openingOf({ id, resend, watermark }: Opening): string {
  const names = Object.entries(NAMESPACES).map(([prefix, uri]) => ` xmlns:${prefix}="${uri}"`);
  const objects = ['rdeHeader', 'rdeRegistrar', 'rdeDomain', 'rdeContact', 'rdePolicy'].map((prefix) =>
    textElement('rde:objURI', NAMESPACES[prefix]),
  );
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<rde:deposit type="FULL" id="${id}" resend="${resend}"${names.join('')}>`,
    textElement('rde:watermark', watermark.toISOString()),
    element('rde:rdeMenu', [textElement('rde:version', '1.0'), ...objects]),
    '<rde:contents>',
    '',
  ].join('\n');
}

/** Of the same length whatever the numbers: white space around a number counts for nothing. */
function headerOf(ianaId: string, { contacts, domains }: Counts): string {
  const counted = { rdeDomain: domains, rdeContact: contacts, rdeRegistrar: 1 };
  const elements = Object.entries(counted).map(([prefix, count]) =>
    textElement('rdeHeader:count', String(count).padStart(COUNT_WIDTH), { uri: NAMESPACES[prefix] ?? '' }),
  );
  return `${element('rdeHeader:header', [textElement('rdeHeader:registrar', ianaId), ...elements])}\n`;
}

/** RFC 9022, section 5.8: more than the schema demands, a name has its registrant. */
const POLICY = element('rdePolicy:policy', [], {
  scope: '//rde:deposit/rde:contents/rdeDomain:domain',
  element: 'rdeDomain:registrant',
});
