/** Signed marks (RFC 7848), as far as a registrar looks into them: whose signature counts is the registry's affair. */

import { requireTime } from './commands/values.ts';
import { EppFault } from './epp-fault.ts';
import { MARK, SIGNED_MARK } from './namespaces.ts';
import { childrenOf, findChild, type XmlElement } from './xml/element.ts';
import { parseXml, XmlError } from './xml/parse-xml.ts';

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Why it is of no use for the label at this moment, for whoever sent it; undefined: it may be. */
export function findMarkProblem(encoded: string, label: string, now: Date): string | undefined {
  let mark: ReturnType<typeof readSignedMark>;
  try {
    mark = readSignedMark(encoded);
  } catch (error) {
    if (!(error instanceof XmlError) && !(error instanceof EppFault)) throw error;
    return `the signed mark is none: ${error.message}`;
  }
  if (mark.notAfter <= now) return `the signed mark ended at ${mark.notAfter.toISOString()}`;
  if (mark.notBefore > now) return `the signed mark is valid from ${mark.notBefore.toISOString()} on`;
  return mark.labels.has(label) ? undefined : `the signed mark is not of ${label}`;
}

/** Throws `XmlError` and `EppFault`. */
function readSignedMark(encoded: string) {
  if (!BASE64.test(encoded)) throw new XmlError('it is not base64');
  const root = parseXml(Buffer.from(encoded, 'base64'));
  if (root.uri !== SIGNED_MARK || root.local !== 'signedMark') throw new XmlError(`the root is ${root.local}`);
  const mark = findChild(root, 'mark', MARK);
  return {
    notBefore: new Date(requireTime(root, 'notBefore')),
    notAfter: new Date(requireTime(root, 'notAfter')),
    labels: new Set(mark === undefined ? [] : mark.children.flatMap(labelsOf)),
  };
}

/** A trademark, or a mark of a treaty, statute or court. */
function labelsOf(mark: XmlElement): string[] {
  return childrenOf(mark, 'label', MARK).map(({ text }) => text.trim().toLowerCase());
}
