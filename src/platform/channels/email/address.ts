/** Mail addresses: in one form, whoever wrote them. */
import { domainToASCII } from 'node:url';

const HANDLE = '[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?';
const DOMAIN = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/;
const ADDRESS = /^[^\s@<>,;:"\\\p{Cc}]{1,64}@[^\s@]{1,253}$/u;

/** Of deployments: the mailbox, which is the agent's or the smith's own. */
export const EMAIL_ADDRESS = {
  pattern: new RegExp(`^${HANDLE}@[^\\s@]{1,253}$`, 'i'),
  what: 'a mailbox of the project’s mail domain, such as `support@agents.example`',
  normalize: (address: string) => address.toLowerCase(),
  isOwn: true,
};

/** In ASCII and lower case; undefined for what is none. */
export function readDomain(text: string): string | undefined {
  const domain = domainToASCII(text.trim().toLowerCase());
  return DOMAIN.test(domain) ? domain : undefined;
}

/** Somebody's; in lower case, undefined for what is none. */
export function readAddress(text: string): string | undefined {
  const address = text.trim().toLowerCase();
  return ADDRESS.test(address) && readDomain(domainOf(address)) !== undefined ? address : undefined;
}

export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1);
}

export function handleOf(address: string): string {
  return address.slice(0, address.lastIndexOf('@'));
}
