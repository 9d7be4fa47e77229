/** Marks (RFC 7848), as far as a registrar looks into them: whose signature, or code, counts is the registry's affair. */

import type { HeldMark, MarkKind } from '../registry.ts';
import { requireTime } from './commands/values.ts';
import { EppFault } from './epp-fault.ts';
import { MARK, SIGNED_MARK } from './namespaces.ts';
import { childrenOf, findChild, type XmlElement } from './xml/element.ts';
import { parseXml, XmlError } from './xml/parse-xml.ts';

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Of a mark, what a registry that wants it so is told. */
export function partsFor(requires: MarkKind, { mark, markCode, signedMark }: HeldMark): HeldMark {
  switch (requires) {
    case 'signed_mark':
      return { signedMark };
    case 'mark_code':
      return { markCode };
    case 'mark':
      return { mark };
    case 'mark_code_and_mark':
      return { markCode, mark };
  }
}

export function hasMark(requires: MarkKind, held: HeldMark): boolean {
  return Object.values(partsFor(requires, held)).every((part) => part !== undefined);
}

/** Why what is wanted of the mark is of no use for the label at this moment, for whoever sent it; undefined: it may be. */
export function findHeldProblem(
  requires: MarkKind,
  held: HeldMark,
  { label, now }: { readonly label: string; readonly now: Date },
): string | undefined {
  const { mark, signedMark } = partsFor(requires, held);
  if (signedMark !== undefined) return findMarkProblem(signedMark, label, now);
  return mark === undefined ? undefined : findDocumentProblem(mark, label);
}

function findDocumentProblem(encoded: string, label: string): string | undefined {
  try {
    return labelsIn(readMark(encoded)).has(label) ? undefined : `the mark is not of ${label}`;
  } catch (error) {
    if (!(error instanceof XmlError)) throw error;
    return `the mark is none: ${error.message}`;
  }
}

/** Throws `XmlError`. */
export function readMark(encoded: string): XmlElement {
  const root = readBase64(encoded);
  if (root.uri !== MARK || root.local !== 'mark') throw new XmlError(`the root is ${root.local}`);
  return root;
}

function findMarkProblem(encoded: string, label: string, now: Date): string | undefined {
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
  const root = readBase64(encoded);
  if (root.uri !== SIGNED_MARK || root.local !== 'signedMark') throw new XmlError(`the root is ${root.local}`);
  const mark = findChild(root, 'mark', MARK);
  return {
    notBefore: new Date(requireTime(root, 'notBefore')),
    notAfter: new Date(requireTime(root, 'notAfter')),
    labels: labelsIn(mark),
  };
}

function readBase64(encoded: string): XmlElement {
  if (!BASE64.test(encoded)) throw new XmlError('it is not base64');
  return parseXml(Buffer.from(encoded, 'base64'));
}

function labelsIn(mark: XmlElement | undefined): ReadonlySet<string> {
  return new Set(mark === undefined ? [] : mark.children.flatMap(labelsOf));
}

/** A trademark, or a mark of a treaty, statute or court. */
function labelsOf(mark: XmlElement): string[] {
  return childrenOf(mark, 'label', MARK).map(({ text }) => text.trim().toLowerCase());
}
