/** Sessions (RFC 5730 2.4 and 2.9.1): what the server offers, and what the client takes of it. */

import { EppFault } from '../epp-fault.ts';
import { EPP, LOGIN_SEC } from '../namespaces.ts';
import { elementsOf, findChild, findText, textsOf, type XmlElement } from '../xml/element.ts';
import { ELSEWHERE, findLongPasswords, LONGEST_PLAIN_PASSWORD, loginSecurityElement } from './login-security.ts';
import { optional, requireChild, requireText } from './values.ts';

export const PROTOCOL_VERSION = '1.0';
export const LANGUAGE = 'en';

export interface Greeting {
  readonly server: string;
  /** ISO 8601. */
  readonly at: string;
  readonly versions: readonly string[];
  readonly languages: readonly string[];
  readonly objectUris: readonly string[];
  readonly extensionUris: readonly string[];
}

export interface LoginCommand {
  readonly kind: 'login';
  readonly clientId: string;
  readonly password: string;
  readonly newPassword?: string | undefined;
  readonly version: string;
  readonly language: string;
  readonly objectUris: readonly string[];
  readonly extensionUris: readonly string[];
}

const epp = elementsOf(EPP);

export function greetingElement(greeting: Greeting): XmlElement {
  return epp('greeting', [
    epp('svID', greeting.server),
    epp('svDate', greeting.at),
    epp('svcMenu', [
      ...greeting.versions.map((version) => epp('version', version)),
      ...greeting.languages.map((language) => epp('lang', language)),
      ...serviceElements(greeting),
    ]),
    // What is done with the data: everything that the commands are for, kept as long as they need.
    epp('dcp', [
      epp('access', [epp('all')]),
      epp('statement', [
        epp('purpose', [epp('admin'), epp('prov')]),
        epp('recipient', [epp('ours'), epp('public')]),
        epp('retention', [epp('stated')]),
      ]),
    ]),
  ]);
}

/** Only what a client needs of it must be there. Throws `EppFault`. */
export function readGreeting(greeting: XmlElement): Greeting {
  const menu = requireChild(greeting, 'svcMenu');
  return {
    server: findText(greeting, 'svID') ?? '',
    at: findText(greeting, 'svDate') ?? '',
    versions: textsOf(menu, 'version'),
    languages: textsOf(menu, 'lang'),
    ...readServices(menu),
  };
}

export function loginElement(login: LoginCommand): XmlElement {
  return epp('login', [
    epp('clID', login.clientId),
    epp('pw', isLong(login, login.password) ? ELSEWHERE : login.password),
    optional(EPP, 'newPW', isLong(login, login.newPassword) ? ELSEWHERE : login.newPassword),
    epp('options', [epp('version', login.version), epp('lang', login.language)]),
    epp('svcs', serviceElements(login)),
  ]);
}

function isLong({ extensionUris }: LoginCommand, password: string | undefined): boolean {
  return (password?.length ?? 0) > LONGEST_PLAIN_PASSWORD && extensionUris.includes(LOGIN_SEC);
}

/** What goes beside the login. */
export function loginExtensions(login: LoginCommand): XmlElement[] {
  const password = isLong(login, login.password) ? login.password : undefined;
  const newPassword = isLong(login, login.newPassword) ? login.newPassword : undefined;
  return password === undefined && newPassword === undefined ? [] : [loginSecurityElement({ password, newPassword })];
}

export function readLogin(login: XmlElement, extensions: readonly XmlElement[]): LoginCommand {
  const long = findLongPasswords(extensions);
  const [password, newPassword] = [requireText(login, 'pw'), findText(login, 'newPW')];
  const options = requireChild(login, 'options');
  const services = requireChild(login, 'svcs');
  return {
    kind: 'login',
    clientId: requireText(login, 'clID'),
    password: password === ELSEWHERE ? (long.password ?? password) : password,
    newPassword: newPassword === ELSEWHERE ? long.newPassword : newPassword,
    version: requireText(options, 'version'),
    language: requireText(options, 'lang'),
    ...readServices(services),
  };
}

interface Services {
  readonly objectUris: readonly string[];
  readonly extensionUris: readonly string[];
}

function serviceElements({ objectUris, extensionUris }: Services): XmlElement[] {
  const extensions = extensionUris.map((uri) => epp('extURI', uri));
  return [
    ...objectUris.map((uri) => epp('objURI', uri)),
    ...(extensions.length > 0 ? [epp('svcExtension', extensions)] : []),
  ];
}

function readServices(parent: XmlElement): Services {
  const objectUris = textsOf(parent, 'objURI');
  if (objectUris.length === 0) throw new EppFault(2003, `${parent.local} lacks objURI`);
  return { objectUris, extensionUris: textsOf(findChild(parent, 'svcExtension'), 'extURI') };
}
