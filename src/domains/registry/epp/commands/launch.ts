/** Launch phases (RFC 8334): claims of trademark holders on names, asked for with a check (3.1.1), and the notice that comes with a create (3.3.1). */
import { type AcceptedNotice, TMCH } from '../../claims-notices.ts';
import { EppFault } from '../epp-fault.ts';
import { LAUNCH } from '../namespaces.ts';
import { childrenOf, elementsOf, findChild, findText, type XmlElement } from '../xml/element.ts';
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

export function noticeElement({ acceptedAt, notAfter, noticeId }: AcceptedNotice): XmlElement {
  return launch('create', [
    launch('phase', 'claims'),
    launch('notice', [
      launch('noticeID', noticeId, { validatorID: TMCH }),
      launch('notAfter', notAfter),
      launch('acceptedDate', acceptedAt),
    ]),
  ]);
}

/** Undefined: the create comes without one. 2306 for other forms of it, and for another validator's notice. */
export function findAcceptedNotice(extensions: readonly XmlElement[]): AcceptedNotice | undefined {
  const found = extensions.find(({ uri, local }) => uri === LAUNCH && local === 'create');
  if (found === undefined) return undefined;
  const notice = findChild(found, 'notice');
  if (findText(found, 'phase') !== 'claims' || notice === undefined) {
    throw new EppFault(2306, 'launch: a create of the claims phase has a notice');
  }
  const { validatorID = TMCH } = requireChild(notice, 'noticeID').attributes;
  if (validatorID !== TMCH) throw new EppFault(2306, `launch: notices of ${validatorID} are not known`);
  return {
    noticeId: requireText(notice, 'noticeID'),
    notAfter: requireTime(notice, 'notAfter'),
    acceptedAt: requireTime(notice, 'acceptedDate'),
  };
}
