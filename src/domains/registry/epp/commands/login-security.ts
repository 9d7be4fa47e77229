/** Passwords that are longer than RFC 5730 has them, and what a server says of them at login (RFC 8807). */
import { LOGIN_SEC } from '../namespaces.ts';
import { childrenOf, elementsOf, findText, type XmlElement } from '../xml/element.ts';
import { optional } from './values.ts';

/** Stands in `pw` and `newPW` where the password is in the extension. */
export const ELSEWHERE = '[LOGIN-SECURITY]';
/** RFC 5730 4.1, pwType. */
export const LONGEST_PLAIN_PASSWORD = 16;

export interface LongPasswords {
  readonly password?: string | undefined;
  readonly newPassword?: string | undefined;
}

const loginSec = elementsOf(LOGIN_SEC);

export function loginSecurityElement({ newPassword, password }: LongPasswords): XmlElement {
  return loginSec('loginSec', [optional(LOGIN_SEC, 'pw', password), optional(LOGIN_SEC, 'newPW', newPassword)]);
}

export function findLongPasswords(extensions: readonly XmlElement[]): LongPasswords {
  const found = extensions.find(({ local, uri }) => uri === LOGIN_SEC && local === 'loginSec');
  return { password: findText(found, 'pw'), newPassword: findText(found, 'newPW') };
}

/** What an operator should read: a password or a certificate that is about to expire, failed logins. */
export function describeLoginEvents(extensions: readonly XmlElement[]): string[] {
  const found = extensions.find(({ local, uri }) => uri === LOGIN_SEC && local === 'loginSecData');
  if (found === undefined) return [];
  return childrenOf(found, 'event').map(({ attributes, text }) =>
    [attributes.level, attributes.type, attributes.name, attributes.exDate, text.trim()].filter(Boolean).join(' '),
  );
}
