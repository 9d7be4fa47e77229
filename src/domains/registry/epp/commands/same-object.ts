/**
 * An answer names the object that it is about. One about another object is no answer to the command, whatever transaction it names: the server, or
 * something between, is out of step.
 */
import { toASCII } from 'tr46';
import { EppFault } from '../epp-fault.ts';
import { CONTACT, DOMAIN, HOST } from '../namespaces.ts';
import { childrenOf, findText } from '../xml/element.ts';
import type { EppCommand } from './command.ts';
import type { Response } from './response.ts';
import { findTradeData } from './trade.ts';

/** As DNS compares names: lower case, A-labels, no dot at the end. */
export function canonicalName(text: string): string {
  const lower = text.trim().toLowerCase();
  const ascii = PLAIN.test(lower) ? lower : (toASCII(lower) ?? lower);
  return ascii.replace(/\.$/, '');
}

const PLAIN = /^[!-~]*$/;

interface Asked {
  readonly uri: string;
  /** Of the element that identifies the object. */
  readonly key: 'name' | 'id';
  readonly values: readonly string[];
}

/** Throws `EppFault` for an answer about an object that the command is not about. Messages are about any. */
export function requireSameObject(command: EppCommand, response: Response): void {
  const asked = askedBy(command);
  if (asked === undefined) return;
  const canonical = asked.key === 'name' ? canonicalName : (id: string) => id.toLowerCase();
  const expected = new Set(asked.values.map(canonical));
  const other = answeredIn(response, asked).find((value) => !expected.has(canonical(value)));
  if (other !== undefined)
    throw new EppFault(2004, `the answer to ${command.kind} is about ${other.slice(0, MAX_SHOWN)}`);
}

/** A name's own length. */
const MAX_SHOWN = 255;

function askedBy(command: EppCommand): Asked | undefined {
  switch (command.kind) {
    case 'domain:check':
      return { uri: DOMAIN, key: 'name', values: command.names };
    case 'domain:info':
    case 'domain:create':
    case 'domain:renew':
    case 'domain:transfer':
    case 'domain:trade':
    case 'domain:update':
    case 'domain:delete':
      return { uri: DOMAIN, key: 'name', values: [command.name] };
    case 'contact:check':
      return { uri: CONTACT, key: 'id', values: command.ids };
    case 'contact:info':
    case 'contact:create':
    case 'contact:update':
    case 'contact:delete':
      return { uri: CONTACT, key: 'id', values: [command.id] };
    case 'host:check':
      return { uri: HOST, key: 'name', values: command.names };
    case 'host:info':
    case 'host:create':
    case 'host:update':
    case 'host:delete':
      return { uri: HOST, key: 'name', values: [command.name] };
    case 'login':
    case 'logout':
    case 'poll':
    case 'balance:info':
      return undefined;
  }
}

/** What leaves it out is for whoever reads the data to refuse. */
function answeredIn({ data, extensions }: Response, { key, uri }: Asked): string[] {
  const found = data?.uri === uri ? [data, ...childrenOf(data, 'cd')] : [];
  const trade = uri === DOMAIN ? findTradeData(extensions) : undefined;
  return [...found.flatMap((parent) => findText(parent, key) ?? []), ...(trade === undefined ? [] : [trade.name])];
}
