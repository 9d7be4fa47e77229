/** Reading single values: what is missing, malformed or out of range is the fault that EPP has a code for. */
import { EppFault } from '../epp-fault.ts';
import { element, findChild, findText, type XmlElement } from '../xml/element.ts';

/** A child's text. 2003 where there is none. */
export function requireText(parent: XmlElement, local: string): string {
  const text = findText(parent, local);
  if (text === undefined) throw new EppFault(2003, `${parent.local} lacks ${local}`);
  return text;
}

/** 2003 where there is none. */
export function requireChild(parent: XmlElement, local: string, uri: string = parent.uri): XmlElement {
  const child = findChild(parent, local, uri);
  if (child === undefined) throw new EppFault(2003, `${parent.local} lacks ${local}`);
  return child;
}

/** An instant of a child, as `2026-11-21T19:00:00.000Z`. */
export function requireTime(parent: XmlElement, local: string): string {
  return readTime(requireText(parent, local), local);
}

export function findTime(parent: XmlElement, local: string): string | undefined {
  const text = findText(parent, local);
  return text === undefined ? undefined : readTime(text, local);
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)?$/;

function readTime(text: string, name: string): string {
  const [, , zone] = TIME.exec(text) ?? [undefined];
  // EPP's times are in UTC (RFC 5730 2.4); some servers leave the Z out.
  const time = new Date(zone === undefined ? `${text}Z` : text);
  if (!TIME.test(text) || Number.isNaN(time.getTime())) throw new EppFault(2005, `${name} is not a time: ${text}`);
  return time.toISOString();
}

const DATE = /^\d{4}-\d\d-\d\d$/;

/** `2026-11-21`; a zone after it is dropped. */
export function requireDate(parent: XmlElement, local: string): string {
  const text = requireText(parent, local).replace(/(Z|[+-]\d\d:\d\d)$/, '');
  if (!DATE.test(text) || Number.isNaN(Date.parse(text))) throw new EppFault(2005, `${local} is not a date: ${text}`);
  return text;
}

/** 2005 for what is no whole number, 2004 for one outside the range. */
export function readInteger(text: string, name: string, least: number, most: number): number {
  if (!/^\d{1,9}$/.test(text)) throw new EppFault(2005, `${name} is not a whole number: ${text}`);
  const value = Number(text);
  if (value < least || value > most) throw new EppFault(2004, `${name} must be ${least} to ${most}`);
  return value;
}

/** `1`, `0`, `true`, `false` of XML Schema. */
export function readBoolean(text: string | undefined, name: string): boolean {
  if (text === '1' || text === 'true') return true;
  if (text === '0' || text === 'false') return false;
  throw new EppFault(2005, `${name} is not a boolean`);
}

/** Years of a `period` child, 1 to 99; whole years given in months are taken too. Undefined where there is none. */
export function findYears(parent: XmlElement): number | undefined {
  const period = findChild(parent, 'period');
  if (period === undefined) return undefined;
  const count = readInteger(period.text.trim(), 'period', 1, 99);
  if (period.attributes.unit === 'm') {
    if (count % 12 !== 0) throw new EppFault(2004, 'period must be in whole years');
    return count / 12;
  }
  if (period.attributes.unit !== undefined && period.attributes.unit !== 'y') {
    throw new EppFault(2005, 'the unit of period is y or m');
  }
  return count;
}

export function yearsElement(uri: string, years: number | undefined): XmlElement | undefined {
  return years === undefined ? undefined : element(uri, 'period', String(years), { unit: 'y' });
}

/** The password of an object. White space in it counts. Undefined where there is none. */
export function findAuthInfo(parent: XmlElement): string | undefined {
  const authInfo = findChild(parent, 'authInfo');
  if (authInfo === undefined) return undefined;
  const password = findChild(authInfo, 'pw');
  if (password === undefined) {
    if (findChild(authInfo, 'null') !== undefined) return undefined;
    throw new EppFault(2102, 'authInfo is understood with pw alone');
  }
  return password.text === '' ? undefined : password.text;
}

/** In a change: an empty one is taken away (RFC 9154 4.3). */
export function changedAuthInfoElement(uri: string, password: string | undefined): XmlElement | undefined {
  return password === '' ? element(uri, 'authInfo', [element(uri, 'null')]) : authInfoElement(uri, password);
}

export function findChangedAuthInfo(parent: XmlElement): string | undefined {
  const authInfo = findChild(parent, 'authInfo');
  return authInfo !== undefined && findChild(authInfo, 'null') !== undefined ? '' : findAuthInfo(parent);
}

export function authInfoElement(uri: string, password: string | undefined): XmlElement | undefined {
  return password === undefined ? undefined : element(uri, 'authInfo', [element(uri, 'pw', password)]);
}

/** `text` where it is there: elements that are optional. */
export function optional(uri: string, local: string, text: string | undefined): XmlElement | undefined {
  return text === undefined ? undefined : element(uri, local, text);
}

/** At least one; 2003 where there is none. */
export function requireSome<Item>(items: readonly Item[], name: string): readonly Item[] {
  if (items.length === 0) throw new EppFault(2003, `${name} is missing`);
  return items;
}
