/**
 * E-mail addresses as accounts have them: a dot-atom of RFC 5321 4.1.2 before the `@`, and a domain name behind it, which
 * is kept in punycode. Quoted local parts, address literals and local parts beyond ASCII (RFC 6531) are refused: many
 * mail servers, and the registries that get the address of a registrant, do not take them.
 */
import { toASCII } from 'tr46';
import { ApiError } from '../../../kernel/http/errors.ts';

export interface EmailAddress {
  /** As it was sent, the domain in punycode and lower case. */
  readonly address: string;
  /** The same for every spelling that is taken for the same mailbox: lower case. */
  readonly key: string;
}

const MAX_LENGTH = 254;
const MAX_LOCAL_LENGTH = 64;
const MAX_DOMAIN_LENGTH = 253;
const MAX_LABEL_LENGTH = 63;
const DOT_ATOM = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/;
const LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const TOP_LEVEL = /^(?:[a-z]+|xn--[a-z0-9-]+)$/;
const STRICT = { checkBidi: true, checkHyphens: true, checkJoiners: true, useSTD3ASCIIRules: true } as const;

/** Throws `bad_request` for what is no e-mail address. */
export function normalizeEmail(text: string): EmailAddress {
  const at = text.lastIndexOf('@');
  const local = text.slice(0, Math.max(at, 0));
  const domain = at === -1 ? null : toASCII(text.slice(at + 1), STRICT)?.toLowerCase();
  const isAddress =
    local.length <= MAX_LOCAL_LENGTH && DOT_ATOM.test(local) && typeof domain === 'string' && isMailDomain(domain);
  const address = `${local}@${domain}`;
  if (!isAddress || address.length > MAX_LENGTH) {
    throw new ApiError('bad_request', {
      message: '`email` must be an e-mail address such as kim@example.com, of at most 254 characters.',
      param: 'email',
    });
  }
  return { address, key: address.toLowerCase() };
}

function isMailDomain(domain: string): boolean {
  const labels = domain.split('.');
  return (
    labels.length > 1 &&
    domain.length <= MAX_DOMAIN_LENGTH &&
    labels.every((label) => label.length <= MAX_LABEL_LENGTH && LABEL.test(label)) &&
    TOP_LEVEL.test(labels.at(-1) ?? '')
  );
}
