/** Deposits by the schemas of RFC 8909 and RFC 9022 (`test/fixtures/escrow-schemas`), as libxml2 reads them. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { XmlBufferInputProvider, XmlDocument, XmlLibError, XsdValidator, xmlRegisterInputProvider } from 'libxml2-wasm';

/** Each imports those before it, and says so by namespace alone: what reads them has to have met those already. */
const NAMES = [
  ...['eppcom-1.0', 'epp-1.0', 'host-1.0', 'domain-1.0', 'contact-1.0', 'secDNS-1.1', 'rgp-1.0', 'rde-1.0'],
  ...['rdeDnrdCommon-1.0', 'rdeIDN-1.0', 'rdeHeader-1.0', 'rdeRegistrar-1.0', 'rdeContact-1.0', 'rdeDomain-1.0'],
  'rdeHost-1.0',
  'rdePolicy-1.0',
];

let opened: Promise<XsdValidator> | undefined;

/** Where it is not as the schemas have it; empty: it is. */
export async function depositProblems(xml: string): Promise<string[]> {
  opened ??= openValidator();
  const validator = await opened;
  let document: XmlDocument | undefined;
  try {
    document = XmlDocument.fromString(xml);
    validator.validate(document);
    return [];
  } catch (error) {
    if (!(error instanceof XmlLibError)) throw error;
    return error.details.map(({ line, message }) => `line ${line}: ${message.trim()}`);
  } finally {
    document?.dispose();
  }
}

async function openValidator(): Promise<XsdValidator> {
  const folder = new URL('../fixtures/escrow-schemas/', import.meta.url);
  const files = await Promise.all(
    NAMES.map(async (name) => [`${name}.xsd`, await readFile(fileURLToPath(new URL(`${name}.xsd`, folder)))] as const),
  );
  xmlRegisterInputProvider(new XmlBufferInputProvider(Object.fromEntries(files)));
  const imports = NAMES.map(
    (name) => `<import namespace="urn:ietf:params:xml:ns:${name}" schemaLocation="${name}.xsd"/>`,
  );
  const all = XmlDocument.fromString(`<schema xmlns="http://www.w3.org/2001/XMLSchema">${imports.join('')}</schema>`);
  try {
    return XsdValidator.fromDoc(all);
  } finally {
    all.dispose();
  }
}
