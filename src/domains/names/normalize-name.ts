/**
 * The one way from what a caller wrote to a name: everything behind it compares, stores and sends `ascii` only. Rules:
 *
 *   form     a bare name: no URL, address, port or path; one dot at the end is dropped
 *   UTS 46   nontransitional, strict (STD 3 letters, hyphens, bidi, joiners, DNS lengths); `xn--` labels are decoded,
 *            checked like the rest, and must encode to themselves again
 *   labels   what IDNA2008 admits, written in one script: see check-label.ts
 *   suffix   exactly one label under a public suffix (the ICANN section of the list; a top level that the list lacks
 *            is a suffix itself; the price table decides whether it is offered)
 *
 * The host parser of `URL` is no such check: it takes `0x7f.1` for an address, and lets `_`, `~` and empty labels pass.
 */
import { createRequire } from 'node:module';
import { toASCII, toUnicode } from 'tr46';
import { once } from '../../kernel/http/deferred-compiler.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { findLabelFault } from './check-label.ts';

const require = createRequire(import.meta.url);
/** Loaded for the first name: the list of suffixes is 0.8 MB that the other service does without. */
const loadSuffixes = once(() => require('tldts') as typeof import('tldts'));

export interface DomainName {
  /** Punycode, lower case, without the last dot: `xn--bcher-kva.co.uk`. */
  readonly ascii: string;
  /** The same as people read it: `bücher.co.uk`. */
  readonly unicode: string;
  /** The registered label, in ASCII: `xn--bcher-kva`. */
  readonly label: string;
  /** The public suffix that the name is registered under, in ASCII: `co.uk`. */
  readonly tld: string;
}

const STRICT = {
  checkBidi: true,
  checkHyphens: true,
  checkJoiners: true,
  useSTD3ASCIIRules: true,
  transitionalProcessing: false,
  ignoreInvalidPunycode: false,
};

const ICANN_SECTION = {
  allowIcannDomains: true,
  allowPrivateDomains: false,
  extractHostname: false,
  validateHostname: false,
  detectIp: false,
};

const INVALID_PUNYCODE = 'An `xn--` label is not valid punycode. Send the name in Unicode instead.';

/** In UTF-16 units: more than any name of 253 ASCII characters takes in Unicode, and little enough to check. */
const TEXT_LIMIT = 1_000;
const NAME_LIMIT = 253;
const LABEL_LIMIT = 63;

/** U+3002, U+FF0E and U+FF61 are dots to UTS 46. */
const LAST_DOT = /[.\u3002\uff0e\uff61]$/;

/**
 * The name that `text` spells. Throws `bad_request` for anything that cannot be registered, with `param` naming the
 * member of the request that held it.
 */
export function normalizeName(text: string, param = 'domain'): DomainName {
  const refuse: Refuse = (message) => new ApiError('bad_request', { message, param });
  refuseOtherForms(text, refuse);
  const { ascii, unicode } = encode(text.replace(LAST_DOT, ''), refuse);
  const labels = ascii.split('.');
  for (const label of unicode.split('.')) {
    const fault = findLabelFault(label);
    if (fault !== undefined) throw refuse(fault);
  }
  refuseAddress(labels, refuse);
  const { domain, publicSuffix, isIcann } = loadSuffixes().parse(ascii, ICANN_SECTION);
  if (domain === null || publicSuffix === null) throw refuse(explainSuffix(unicode, isIcann === true));
  if (domain !== ascii) {
    throw refuse(
      `${quote(ascii)} lies within ${quote(domain)}. Names are registered directly under a top level: send ${quote(domain)}.`,
    );
  }
  return { ascii, unicode, label: ascii.slice(0, -publicSuffix.length - 1), tld: publicSuffix };
}

/** The same label under another suffix, which has to be one of plain letters: all that is offered are. */
export function underSuffix(name: DomainName, tld: string): DomainName {
  const unicodeLabel = name.unicode.slice(0, name.unicode.indexOf('.'));
  return { ascii: `${name.label}.${tld}`, unicode: `${unicodeLabel}.${tld}`, label: name.label, tld };
}

type Refuse = (message: string) => ApiError;

/** What people paste in place of a name; each form has its own message, which says what to send. */
const OTHER_FORMS: readonly (readonly [RegExp, string])[] = [
  [/^\s*$/u, 'The name is empty. Send one like `example.com`.'],
  [/:\/\//u, 'That is a URL. Send its domain name alone, like `example.com`.'],
  [/@/u, 'That is an e-mail address or holds user information. Send the part after the `@` alone, like `example.com`.'],
  [/[/\\?#]/u, 'That holds a path. Send the domain name alone, like `example.com`.'],
  [/[:[\]]/u, 'That holds a port or an IP address. Send the domain name alone, like `example.com`.'],
  [
    /[\s\p{Zs}\p{Cc}]/u,
    'A name holds no blanks or control characters. Remove them; GET /suggest makes names from words.',
  ],
  [/\*/u, 'A wildcard is a DNS record and not a name that can be registered. Send a name like `example.com`.'],
  [/_/u, 'A registered name holds no underscore. Use a hyphen, or leave it out.'],
];

function refuseOtherForms(text: string, refuse: Refuse): void {
  if (text.length > TEXT_LIMIT) throw refuse(`A name has at most ${NAME_LIMIT} characters. Send a shorter one.`);
  for (const [form, message] of OTHER_FORMS) {
    if (form.test(text)) throw refuse(message);
  }
}

/** Labels that UTS 46 leaves as they are but for their case: letters, digits and inner hyphens, not as the third and fourth. */
const PLAIN = /^(?!..--)[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?(?:\.(?!..--)[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?)*$/i;

function encode(text: string, refuse: Refuse): { ascii: string; unicode: string } {
  if (text.length <= NAME_LIMIT && PLAIN.test(text)) {
    const plain = text.toLowerCase();
    return { ascii: plain, unicode: plain };
  }
  const ascii = toASCII(text, STRICT);
  if (ascii === null) throw refuse(explainRefusal(text));
  if (ascii.length > NAME_LIMIT) {
    throw refuse(`A name has at most ${NAME_LIMIT} characters, and this one has ${ascii.length}. Send a shorter one.`);
  }
  const labels = ascii.split('.');
  if (labels.includes('')) {
    throw refuse('Two dots follow each other, or a dot stands at an end. Put one label between any two dots.');
  }
  if (labels.some((label) => label.length > LABEL_LIMIT)) {
    throw refuse(
      `A label, the part between two dots, has at most ${LABEL_LIMIT} characters in DNS. Send a shorter one.`,
    );
  }
  if (!ascii.includes('xn--')) return { ascii, unicode: ascii };
  const { domain: unicode, error } = toUnicode(ascii, STRICT);
  if (error || toASCII(unicode, STRICT) !== ascii || !isCanonical(text, labels)) throw refuse(INVALID_PUNYCODE);
  return { ascii, unicode };
}

/** Punycode that decodes to what encodes differently would be a second spelling of a name. */
function isCanonical(text: string, labels: readonly string[]): boolean {
  const encoded = splitLabels(text.toLowerCase()).filter((label) => label.startsWith('xn--'));
  return encoded.every((label) => labels.includes(label));
}

function splitLabels(text: string): string[] {
  return text.split(/[.\u3002\uff0e\uff61]/u);
}

function explainRefusal(text: string): string {
  const labels = splitLabels(text);
  if (labels.some((label) => /^xn--/iu.test(label))) return INVALID_PUNYCODE;
  if (labels.some((label) => label.startsWith('-') || label.endsWith('-'))) {
    return 'A label neither begins nor ends with a hyphen. Remove it.';
  }
  if (labels.some((label) => /^..--/u.test(label))) {
    return 'A label has no hyphens as its third and fourth characters. Remove one.';
  }
  return 'The name holds characters that no domain name may, or in an order that it may not. Use letters, digits and inner hyphens.';
}

/** A top level is letters, or punycode: with digits it is an address, or meant to be one (RFC 3696 2). */
function refuseAddress(labels: readonly string[], refuse: Refuse): void {
  const topLevel = labels.at(-1) ?? '';
  if (labels.every((label) => /^(\d+|0x[\da-f]*)$/.test(label)) && labels.length > 1) {
    throw refuse('That is an IP address. Send a domain name like `example.com`.');
  }
  if (labels.length > 1 && !/^([a-z]+|xn--[a-z\d-]+)$/.test(topLevel)) {
    throw refuse(`There is no top level ${quote(topLevel)}: one has letters only. GET /tlds lists those offered.`);
  }
}

function explainSuffix(name: string, isSuffix: boolean): string {
  if (isSuffix)
    return `Names are registered under ${quote(name)}. Put a label in front of it, like ${quote(`example.${name}`)}.`;
  return `${quote(name)} has no top level. Send a name like ${quote(`${name}.com`)}; GET /check takes a label alone.`;
}

function quote(text: string): string {
  return `\`${text}\``;
}
