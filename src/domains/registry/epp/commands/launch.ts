/** Launch phases (RFC 8334): claims of trademark holders on names, asked for with a check (3.1.1), and the notice that comes with a create (3.3.1). */
import { type AcceptedNotice, TMCH } from '../../claims-notices.ts';
import { type HeldMark, LAUNCH_PHASES, type LaunchPhaseName } from '../../registry.ts';
import { EppFault } from '../epp-fault.ts';
import { LAUNCH, MARK, SIGNED_MARK } from '../namespaces.ts';
import { readMark } from '../signed-mark.ts';
import { childrenOf, element, elementsOf, findChild, findText, type XmlElement } from '../xml/element.ts';
import { writeXml } from '../xml/write-xml.ts';
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

export function claimsElement(phase: LaunchPhaseName, claims: readonly Claim[], validator = TMCH): XmlElement {
  return launch('chkData', [
    phaseElement(phase),
    ...claims.map(({ name, exists, key }) =>
      launch('cd', [
        launch('name', name, { exists: exists ? '1' : '0' }),
        key === undefined ? undefined : launch('claimKey', key, { validatorID: validator }),
      ]),
    ),
  ]);
}

/** Undefined: the answer says nothing of claims. */
export function findClaims(extensions: readonly XmlElement[], validator = TMCH): Claim[] | undefined {
  const data = extensions.find(({ uri, local }) => uri === LAUNCH && local === 'chkData');
  if (data === undefined) return undefined;
  return childrenOf(data, 'cd').map((item) => {
    const name = requireChild(item, 'name');
    // There may be one of each validator; the attribute is the clearinghouse's where it is left out.
    const keys = childrenOf(item, 'claimKey');
    const key = keys.find(({ attributes }) => (attributes.validatorID ?? TMCH) === validator)?.text.trim();
    return {
      name: name.text.trim().toLowerCase(),
      exists: readBoolean(name.attributes.exists, 'exists'),
      ...(key === undefined ? {} : { key }),
    };
  });
}

/** What comes with a create: the phase that it is of, and a mark or a notice where one is wanted. */
export interface LaunchCreate extends HeldMark {
  readonly phase: LaunchPhaseName;
  readonly isApplication: boolean;
  readonly notice?: AcceptedNotice;
  /** Of the code, or the notice. Default: the clearinghouse. */
  readonly validator?: string | undefined;
}

export function launchCreateElement(create: LaunchCreate): XmlElement {
  const { isApplication, notice, phase, signedMark, validator } = create;
  return launch(
    'create',
    [
      phaseElement(phase),
      signedMark === undefined ? undefined : element(SIGNED_MARK, 'encodedSignedMark', signedMark),
      codeMarkElement(create),
      notice && noticeElement(notice, validator),
    ],
    isApplication ? { type: 'application' } : {},
  );
}

/** RFC 8334 2.6.1 to 2.6.3. */
function codeMarkElement({ mark, markCode, validator = TMCH }: LaunchCreate): XmlElement | undefined {
  if (mark === undefined && markCode === undefined) return undefined;
  return launch('codeMark', [
    markCode === undefined ? undefined : launch('code', markCode, { validatorID: validator }),
    mark === undefined ? undefined : readMark(mark),
  ]);
}

function noticeElement({ acceptedAt, notAfter, noticeId }: AcceptedNotice, validator = TMCH): XmlElement {
  return launch('notice', [
    launch('noticeID', noticeId, { validatorID: validator }),
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
    ...readCodeMark(findChild(found, 'codeMark')),
    validator: validatorIn(found),
  };
}

function readCodeMark(codeMark: XmlElement | undefined): HeldMark {
  const mark = codeMark === undefined ? undefined : findChild(codeMark, 'mark', MARK);
  const markCode = findText(codeMark, 'code');
  return {
    ...(markCode === undefined ? {} : { markCode }),
    ...(mark === undefined ? {} : { mark: Buffer.from(writeXml(mark)).toString('base64') }),
  };
}

/** Of the code, or the notice. */
function validatorIn(create: XmlElement): string {
  const [codeMark, notice] = [findChild(create, 'codeMark'), findChild(create, 'notice')];
  const named = (codeMark && findChild(codeMark, 'code')) ?? (notice && findChild(notice, 'noticeID'));
  return named?.attributes.validatorID ?? TMCH;
}

function readNotice(notice: XmlElement): AcceptedNotice {
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
