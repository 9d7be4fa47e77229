/** Launch phases (RFC 8334): claims of trademark holders on names, asked for with a check (3.1.1), and the notice that comes with a create (3.3.1). */
import { type AcceptedNotice, TMCH } from '../../claims-notices.ts';
import { LAUNCH_PHASES, type LaunchPhaseName } from '../../registry.ts';
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

function phaseElement({ name, phase }: LaunchPhaseName): XmlElement {
  return launch('phase', phase, name === undefined ? {} : { name });
}

/** 2306 for a phase that RFC 8334 2.3 does not have, or a custom one without its name. */
function readPhase(parent: XmlElement): LaunchPhaseName {
  const { attributes, text } = requireChild(parent, 'phase');
  const phase = LAUNCH_PHASES.find((known) => known === text.trim());
  const { name } = attributes;
  if (phase === undefined || (phase === 'custom' && name === undefined)) {
    throw new EppFault(2306, `launch: there is no phase ${text.trim()}`);
  }
  return name === undefined ? { phase } : { phase, name };
}

export function claimsQuestionElement(phase: LaunchPhaseName): XmlElement {
  return launch('check', [phaseElement(phase)], { type: 'claims' });
}

/** In which phase it is asked for claims; undefined: it is not. 2307 for checks of other kinds. */
export function findClaimsQuestion(extensions: readonly XmlElement[]): LaunchPhaseName | undefined {
  const found = extensions.find(({ uri, local }) => uri === LAUNCH && local === 'check');
  if (found === undefined) return undefined;
  const { type = 'claims' } = found.attributes;
  if (type === 'claims') return readPhase(found);
  throw new EppFault(2307, 'launch: claims can be asked for');
}

export function claimsElement(phase: LaunchPhaseName, claims: readonly Claim[]): XmlElement {
  return launch('chkData', [
    phaseElement(phase),
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

/** What comes with a create: the phase that it is of, and a mark or a notice where one is wanted. */
export interface LaunchCreate {
  readonly phase: LaunchPhaseName;
  readonly isApplication: boolean;
  readonly notice?: AcceptedNotice;
  /** Base64. */
  readonly signedMark?: string;
}

export function launchCreateElement({ isApplication, notice, phase, signedMark }: LaunchCreate): XmlElement {
  return launch(
    'create',
    [
      phaseElement(phase),
      signedMark === undefined ? undefined : element(SIGNED_MARK, 'encodedSignedMark', signedMark),
      notice && noticeElement(notice),
    ],
    isApplication ? { type: 'application' } : {},
  );
}

function noticeElement({ acceptedAt, notAfter, noticeId }: AcceptedNotice): XmlElement {
  return launch('notice', [
    launch('noticeID', noticeId, { validatorID: TMCH }),
    launch('notAfter', notAfter),
    launch('acceptedDate', acceptedAt),
  ]);
}

/** Undefined: the create comes without one. */
export function findLaunchCreate(extensions: readonly XmlElement[]): LaunchCreate | undefined {
  const found = extensions.find(({ uri, local }) => uri === LAUNCH && local === 'create');
  if (found === undefined) return undefined;
  const notice = findChild(found, 'notice');
  const signedMark = findChild(found, 'encodedSignedMark', SIGNED_MARK)?.text.replace(/\s+/g, '');
  return {
    phase: readPhase(found),
    isApplication: found.attributes.type === 'application',
    ...(notice === undefined ? {} : { notice: readNotice(notice) }),
    ...(signedMark === undefined ? {} : { signedMark }),
  };
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
  { id, phase, status }: { readonly id: string; readonly phase: LaunchPhaseName; readonly status?: ApplicationStatus },
): XmlElement {
  return launch(local, [
    phaseElement(phase),
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

export interface AskedApplication {
  readonly id: string;
  readonly phase: LaunchPhaseName;
}

export function applicationQuestionElement({ id, phase }: AskedApplication): XmlElement {
  return launch('info', [phaseElement(phase), launch('applicationID', id)]);
}

/** Undefined: it is asked for a name, and not for an application. */
export function findAskedApplication(extensions: readonly XmlElement[]): AskedApplication | undefined {
  const found = extensions.find(({ uri, local }) => uri === LAUNCH && local === 'info');
  return found === undefined ? undefined : { id: requireText(found, 'applicationID'), phase: readPhase(found) };
}
