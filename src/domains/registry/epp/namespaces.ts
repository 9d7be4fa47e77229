/** The XML namespaces of EPP: objects and extensions are named by them in the greeting and at login. */
export const EPP = 'urn:ietf:params:xml:ns:epp-1.0';
export const DOMAIN = 'urn:ietf:params:xml:ns:domain-1.0';
export const CONTACT = 'urn:ietf:params:xml:ns:contact-1.0';
export const HOST = 'urn:ietf:params:xml:ns:host-1.0';
/** RFC 5910. */
export const SEC_DNS = 'urn:ietf:params:xml:ns:secDNS-1.1';
/** RFC 3915. */
export const RGP = 'urn:ietf:params:xml:ns:rgp-1.0';
/** RFC 8748. */
export const FEE = 'urn:ietf:params:xml:ns:epp:fee-1.0';
/** The drafts before it that registries still speak (draft-brown-epp-fees, draft-ietf-regext-epp-fees), the newest first. */
export const FEE_DRAFTS = ['0.21', '0.11', '0.9', '0.8', '0.7', '0.6', '0.5'] as const;
export const feeDraftUri = (draft: (typeof FEE_DRAFTS)[number]) => `urn:ietf:params:xml:ns:fee-${draft}`;
/** Of which one is used: the first that both sides have. */
export const FEE_URIS: readonly string[] = [FEE, ...FEE_DRAFTS.map(feeDraftUri)];
/** Verisign's mapping by which one system serves several registries: each command says for which. */
export const NAME_STORE = 'http://www.verisign-grs.com/epp/namestoreExt-1.1';
/** Tables of internationalized names (draft-ietf-eppext-idnmap), and Verisign's language tags for the same. */
export const IDN = 'urn:ietf:params:xml:ns:idn-1.0';
export const IDN_LANG = 'http://www.verisign.com/epp/idnLang-1.0';
/** RFC 8334. */
export const LAUNCH = 'urn:ietf:params:xml:ns:launch-1.0';
/** RFC 7848: goes inside of launch phases, and is not agreed on by itself. */
export const SIGNED_MARK = 'urn:ietf:params:xml:ns:signedMark-1.0';
export const MARK = 'urn:ietf:params:xml:ns:mark-1.0';
/** AFNIC's extension, of which trades are a part; the last in its name is the version. */
export const FRNIC_VERSIONS = ['1.2', '1.4', '2.0'] as const;
export const frnicUri = (version: (typeof FRNIC_VERSIONS)[number]) => `http://www.afnic.fr/xml/epp/frnic-${version}`;
export const FRNIC_URIS: readonly string[] = FRNIC_VERSIONS.map(frnicUri);
/** RFC 8807. */
export const LOGIN_SEC = 'urn:ietf:params:xml:ns:epp:loginSec-1.0';
/** RFC 8590: what happened to a name without a command of its sponsor. */
export const CHANGE_POLL = 'urn:ietf:params:xml:ns:changePoll-1.0';

/** RFC 9154: a name may have no auth code. */
export const SECURE_AUTH_INFO = 'urn:ietf:params:xml:ns:epp:secure-authinfo-transfer-1.0';

/** Verisign's mapping of a registrar's account, which several registries have: its balance, and messages that it is low. */
export const BALANCE = 'http://www.verisign.com/epp/balance-1.0';
export const LOW_BALANCE = 'http://www.verisign.com/epp/lowbalance-poll-1.0';

/** Beside `OBJECT_URIS`, where a registry has them. */
export const ACCOUNT_URIS: readonly string[] = [BALANCE, LOW_BALANCE];
export const OBJECT_URIS: readonly string[] = [DOMAIN, CONTACT, HOST];
/** What every registry may have, without being told more. */
export const EXTENSION_URIS: readonly string[] = [SEC_DNS, RGP, ...FEE_URIS, LOGIN_SEC, CHANGE_POLL, SECURE_AUTH_INFO];

/** Servers that have agreed on several versions differ in which one they answer with. */
export function withOneFee(uris: readonly string[]): string[] {
  const used = FEE_URIS.find((uri) => uris.includes(uri));
  return uris.filter((uri) => uri === used || !FEE_URIS.includes(uri));
}

/** The prefixes that everybody uses; some clients look elements up by them. EPP itself is the default namespace. */
const prefixes: Readonly<Record<string, string>> = {
  [DOMAIN]: 'domain:',
  [CONTACT]: 'contact:',
  [HOST]: 'host:',
  [SEC_DNS]: 'secDNS:',
  [RGP]: 'rgp:',
  ...Object.fromEntries(FEE_URIS.map((uri) => [uri, 'fee:'])),
  [NAME_STORE]: 'namestoreExt:',
  [IDN]: 'idn:',
  [LAUNCH]: 'launch:',
  [SIGNED_MARK]: 'smd:',
  [IDN_LANG]: 'idnLang:',
  ...Object.fromEntries(FRNIC_URIS.map((uri) => [uri, 'frnic:'])),
  [LOGIN_SEC]: 'loginSec:',
  [CHANGE_POLL]: 'changePoll:',
  [BALANCE]: 'balance:',
  [LOW_BALANCE]: 'lowbalance-poll:',
};

export function prefixOf(uri: string): string {
  return prefixes[uri] ?? '';
}
