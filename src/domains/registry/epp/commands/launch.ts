/** Claims of trademark holders on names of a TLD that is being launched (RFC 8334 3.1.1): whether there are any, asked with a check. */
import { EppFault } from '../epp-fault.ts';
import { LAUNCH } from '../namespaces.ts';
import { childrenOf, elementsOf, findChild, findText, type XmlElement } from '../xml/element.ts';
import { readBoolean, requireChild } from './values.ts';

export interface Claim {
  readonly name: string;
  readonly exists: boolean;
  /** By which the notice is found that whoever wants the name has to accept. */
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
        key === undefined ? undefined : launch('claimKey', key, { validatorID: 'tmch' }),
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
    const key = findChild(item, 'claimKey')?.text.trim();
    return {
      name: name.text.trim().toLowerCase(),
      exists: readBoolean(name.attributes.exists, 'exists'),
      ...(key === undefined ? {} : { key }),
    };
  });
}
