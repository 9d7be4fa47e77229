/** Launch phases (RFC 8334): claims of trademark holders on names, asked for with a check (3.1.1), and the notice that comes with a create (3.3.1). */
import { type AcceptedNotice, TMCH } from '../../claims-notices.ts';
import { EppFault } from '../epp-fault.ts';
import { LAUNCH, SIGNED_MARK } from '../namespaces.ts';
import { childrenOf, element, elementsOf, findChild, findText, type XmlElement } from '../xml/element.ts';
import { readBoolean, requireChild, requireText, requireTime } from './values.ts';

export interface Claim {
  readonly name: string;
  readonly exists: boolean;
  /** By which the clearinghouse has the notice that whoever wants the name has to accept. */
  readonly key?: string | undefined;
}

const launch = elementsOf(LAUNCH);

export function claimsQuestionElement(): XmlElement {
  return launch('check', [launch('phase', 'claims')], { type: 'claims' });
}

/** Whether it is asked for claims; 2307 for checks of other kinds and phases. */
export function asksForClaims(extensions: readonly XmlElement[]): boolean {
  const found = extensions.find(({ uri, local }) => uri === LAUNCH && local === 'check');
  if (found === undefined) return false;
  const { type = 'claims' } = found.attributes;
  if (type === 'claims' && findText(found, 'phase') === 'claims') return true;
  throw new EppFault(2307, 'launch: claims of the claims phase can be asked for');
}

export function claimsElement(claims: readonly Claim[]): XmlElement {
  return launch('chkData', [
    launch('phase', 'claims'),
    ...claims.map(({ name, exists, key }) =>
      launch('cd', [
        launch('name', name, { exists: exists ? '1' : '0' }),
        key === undefined ? undefined : launch('claimKey', key, { validatorID: TMCH }),
      ]),
    ),
  ]);
}

/** Undefined: the answer says nothing of claims. */
export function findClaims(extensions: readonly XmlElement[]): Claim[] | undefined {
  const data = extensions.find(({ uri, local }) => uri === LAUNCH && local === 'chkData');
  if (data === undefined) return undefined;
  return childrenOf(data, 'cd').map((item) => {
    const name = requireChild(item, 'name');
    // There may be one of each validator; the attribute is the clearinghouse's where it is left out.
    const ofTmch = childrenOf(item, 'claimKey').find(({ attributes }) => (attributes.validatorID ?? TMCH) === TMCH);
    const key = ofTmch?.text.trim();
    return {
      name: name.text.trim().toLowerCase(),
      exists: readBoolean(name.attributes.exists, 'exists'),
      ...(key === undefined ? {} : { key }),
    };
  });
}

/** A mark, or a notice, that comes with a create. */
export type LaunchCreate =
  | { readonly kind: 'notice'; readonly notice: AcceptedNotice }
  /** `signedMark` is base64. */
  | { readonly kind: 'signed_mark'; readonly signedMark: string; readonly isApplication: boolean };

export function launchCreateElement(create: LaunchCreate): XmlElement {
  if (create.kind === 'notice') return noticeElement(create.notice);
  const { isApplication, signedMark } = create;
  return launch(
    'create',
    [launch('phase', 'sunrise'), element(SIGNED_MARK, 'encodedSignedMark', signedMark)],
    isApplication ? { type: 'application' } : {},
  );
}

function noticeElement({ acceptedAt, notAfter, noticeId }: AcceptedNotice): XmlElement {
  return launch('create', [
    launch('phase', 'claims'),
    launch('notice', [
      launch('noticeID', noticeId, { validatorID: TMCH }),
      launch('notAfter', notAfter),
      launch('acceptedDate', acceptedAt),
    ]),
  ]);
}

/** Undefined: the create comes without one. 2306 for other forms of it. */
export function findLaunchCreate(extensions: readonly XmlElement[]): LaunchCreate | undefined {
  const found = extensions.find(({ uri, local }) => uri === LAUNCH && local === 'create');
  if (found === undefined) return undefined;
  const phase = findText(found, 'phase');
  const notice = findChild(found, 'notice');
  if (phase === 'claims' && notice !== undefined) return { kind: 'notice', notice: readNotice(notice) };
  const signedMark = findChild(found, 'encodedSignedMark', SIGNED_MARK)?.text.replace(/\s+/g, '');
  if (phase === 'sunrise' && signedMark !== undefined && signedMark !== '') {
    return { kind: 'signed_mark', signedMark, isApplication: found.attributes.type === 'application' };
  }
  throw new EppFault(
    2306,
    'launch: a create has a notice in the claims phase, and an encoded signed mark in a sunrise',
  );
}

/** 2306 for another validator's. */
function readNotice(notice: XmlElement): AcceptedNotice {
  const { validatorID = TMCH } = requireChild(notice, 'noticeID').attributes;
  if (validatorID !== TMCH) throw new EppFault(2306, `launch: notices of ${validatorID} are not known`);
  return {
    noticeId: requireText(notice, 'noticeID'),
    notAfter: requireTime(notice, 'notAfter'),
    acceptedAt: requireTime(notice, 'acceptedDate'),
  };
}

/** RFC 8334 2.3. */
export type ApplicationStatus = 'pendingAllocation' | 'allocated' | 'rejected';

/** An application, in the answer to its create (`creData`), to its info, and in messages about it (`infData`). */
export function applicationElement(
  local: 'creData' | 'infData',
  { id, status }: { readonly id: string; readonly status?: ApplicationStatus },
): XmlElement {
  return launch(local, [
    launch('phase', 'sunrise'),
    launch('applicationID', id),
    status === undefined ? undefined : launch('status', '', { s: status }),
  ]);
}

/** Statuses that are not the registry's last word, or that it made up, are as they are told. */
export function findApplication(
  extensions: readonly XmlElement[],
): { readonly id: string; readonly status: string | undefined } | undefined {
  const data = extensions.find(({ uri, local }) => uri === LAUNCH && (local === 'creData' || local === 'infData'));
  const id = findText(data, 'applicationID');
  if (data === undefined || id === undefined) return undefined;
  return { id, status: findChild(data, 'status')?.attributes.s };
}

export function applicationQuestionElement(id: string): XmlElement {
  return launch('info', [launch('phase', 'sunrise'), launch('applicationID', id)]);
}

/** Undefined: it is asked for a name, and not for an application. */
export function findAskedApplication(extensions: readonly XmlElement[]): string | undefined {
  const found = extensions.find(({ uri, local }) => uri === LAUNCH && local === 'info');
  return found === undefined ? undefined : requireText(found, 'applicationID');
}
