/** A notice as the clearinghouse writes it (RFC 9361 6.3.1): its document is foreign, so everything of it is checked. */
import type { ClaimsNotice, NoticeParty, TrademarkClaim } from '../claims-notices.ts';
import { requireChild, requireText, requireTime } from '../epp/commands/values.ts';
import { EppFault } from '../epp/epp-fault.ts';
import { childrenOf, findChild, findText, textsOf, type XmlElement } from '../epp/xml/element.ts';
import { parseXml, XmlError } from '../epp/xml/parse-xml.ts';

const NOTICE = 'urn:ietf:params:xml:ns:tmNotice-1.0';

/** Throws `XmlError` and `EppFault`, which say what is wrong with it. */
export function readNotice(bytes: Uint8Array): ClaimsNotice {
  const root = parseXml(bytes);
  if (root.uri !== NOTICE || root.local !== 'notice') throw new XmlError(`the root is ${root.local}, not a notice`);
  const claims = childrenOf(root, 'claim').map(readClaim);
  if (claims.length === 0) throw new EppFault(2003, 'the notice has no claim');
  return {
    id: requireText(root, 'id'),
    label: requireText(root, 'label').toLowerCase(),
    notBefore: new Date(requireTime(root, 'notBefore')),
    notAfter: new Date(requireTime(root, 'notAfter')),
    claims,
  };
}

function readClaim(claim: XmlElement): TrademarkClaim {
  const jurisdiction = requireChild(claim, 'jurDesc');
  const decided = findChild(claim, 'notExactMatch');
  return {
    mark_name: requireText(claim, 'markName'),
    jurisdiction: { code: jurisdiction.attributes.jurCC ?? '', name: jurisdiction.text.trim() },
    holders: childrenOf(claim, 'holder').map((holder) => readParty(holder, holder.attributes.entitlement)),
    contacts: childrenOf(claim, 'contact').map((contact) => readParty(contact, contact.attributes.type)),
    classes: childrenOf(claim, 'classDesc').map(({ attributes, text }) => ({
      number: attributes.classNum ?? '',
      description: text.trim(),
    })),
    goods_and_services: requireText(claim, 'goodsAndServices'),
    decisions: decided === undefined ? [] : readDecisions(decided),
  };
}

function readDecisions(decided: XmlElement): TrademarkClaim['decisions'] {
  const courts = childrenOf(decided, 'court').map((court) => ({
    kind: 'court' as const,
    number: requireText(court, 'refNum'),
    decided_by: requireText(court, 'courtName'),
    ...present('country', findText(court, 'cc')),
  }));
  const panels = childrenOf(decided, 'udrp').map((panel) => ({
    kind: 'udrp' as const,
    number: requireText(panel, 'caseNo'),
    decided_by: requireText(panel, 'udrpProvider'),
  }));
  return [...courts, ...panels];
}

function readParty(party: XmlElement, role = 'owner'): NoticeParty {
  const address = findChild(party, 'addr');
  return {
    role,
    ...present('name', findText(party, 'name')),
    ...present('organization', findText(party, 'org')),
    street: textsOf(address, 'street'),
    ...present('city', findText(address, 'city')),
    ...present('region', findText(address, 'sp')),
    ...present('postal_code', findText(address, 'pc')),
    ...present('country', findText(address, 'cc')),
    ...present('phone', findText(party, 'voice')),
    ...present('fax', findText(party, 'fax')),
    ...present('email', findText(party, 'email')),
  };
}

function present<Name extends string>(name: Name, text: string | undefined): { readonly [Key in Name]?: string } {
  return text === undefined ? {} : ({ [name]: text } as { readonly [Key in Name]?: string });
}
