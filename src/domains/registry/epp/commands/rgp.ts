/** The redemption period (RFC 3915): restoring a deleted name is an update with this extension. */

import { EppFault } from '../epp-fault.ts';
import { RGP } from '../namespaces.ts';
import { childrenOf, elementsOf, findChild, textsOf, type XmlElement } from '../xml/element.ts';
import { requireChild, requireText, requireTime } from './values.ts';

/** What a registrar states after a restoration where the registry asks for it. Times are ISO 8601. */
export interface RestoreReport {
  /** The name's data before its deletion, and now, in words. */
  readonly before: string;
  readonly after: string;
  readonly deletedAt: string;
  readonly restoredAt: string;
  readonly reason: string;
  /** Two, of which RFC 3915 says what they are about. */
  readonly statements: readonly string[];
}

export type Restore =
  | { readonly operation: 'request' }
  | { readonly operation: 'report'; readonly report: RestoreReport };

const rgp = elementsOf(RGP);

export function restoreElement(restore: Restore): XmlElement {
  if (restore.operation === 'request') return rgp('update', [rgp('restore', '', { op: 'request' })]);
  const { report } = restore;
  const content = rgp('report', [
    rgp('preData', report.before),
    rgp('postData', report.after),
    rgp('delTime', report.deletedAt),
    rgp('resTime', report.restoredAt),
    rgp('resReason', report.reason),
    ...report.statements.map((statement) => rgp('statement', statement)),
  ]);
  return rgp('update', [rgp('restore', [content], { op: 'report' })]);
}

function readRestore(update: XmlElement): Restore {
  const restore = requireChild(update, 'restore');
  const operation = restore.attributes.op;
  if (operation === 'request') return { operation };
  if (operation !== 'report') throw new EppFault(2005, 'the op of restore is request or report');
  const report = requireChild(restore, 'report');
  return {
    operation,
    report: {
      before: requireText(report, 'preData'),
      after: requireText(report, 'postData'),
      deletedAt: requireTime(report, 'delTime'),
      restoredAt: requireTime(report, 'resTime'),
      reason: requireText(report, 'resReason'),
      statements: textsOf(report, 'statement'),
    },
  };
}

/** `infData` in the answer to info, `upData` in the answer to a restoration. */
export function rgpStatusElement(local: 'infData' | 'upData', statuses: readonly string[]): XmlElement {
  return rgp(
    local,
    statuses.map((status) => rgp('rgpStatus', '', { s: status })),
  );
}

export function readRgpStatuses(extensions: readonly XmlElement[]): string[] {
  const found = extensions.find(
    (extension) => extension.uri === RGP && (extension.local === 'infData' || extension.local === 'upData'),
  );
  if (found === undefined) return [];
  return childrenOf(found, 'rgpStatus').flatMap((status) => status.attributes.s ?? []);
}

/** Whether the elements of an extension hold this one. */
export function findRestore(extensions: readonly XmlElement[]): Restore | undefined {
  const update = extensions.find((extension) => extension.uri === RGP && extension.local === 'update');
  return update === undefined || findChild(update, 'restore') === undefined ? undefined : readRestore(update);
}
