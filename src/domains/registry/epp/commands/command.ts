/** A client's message: `hello`, or a command with its transaction id. One codec an object and verb; see the mappings. */

import { EppFault } from '../epp-fault.ts';
import { BALANCE, CONTACT, DOMAIN, EPP, HOST } from '../namespaces.ts';
import { elementsOf, findChild, findText, type XmlElement } from '../xml/element.ts';
import { type BalanceInfoCommand, balanceCodecs } from './balance.ts';
import type { Codec } from './codec.ts';
import { type ContactCommand, contactCodecs } from './contact.ts';
import { type DomainCommand, domainCodecs } from './domain-commands.ts';
import { type HostCommand, hostCodecs } from './host.ts';
import { type LoginCommand, loginElement, loginExtensions, readLogin } from './login.ts';
import { findSubProduct, subProductElement } from './name-store.ts';
import { findTrade, type TradeCommand, tradeElement } from './trade.ts';

export type PollCommand =
  | { readonly kind: 'poll'; readonly operation: 'req' }
  | { readonly kind: 'poll'; readonly operation: 'ack'; readonly messageId: string };

export type ObjectCommand = (DomainCommand | ContactCommand | HostCommand | BalanceInfoCommand) & {
  /** Where one server is of several registries: for which one it is. */
  readonly subProduct?: string | undefined;
};
export type EppCommand = LoginCommand | { readonly kind: 'logout' } | PollCommand | TradeCommand | ObjectCommand;

export type Request =
  | { readonly kind: 'hello' }
  | {
      readonly kind: 'command';
      readonly command: EppCommand;
      /** The client's id of it: clTRID, 3 to 64 characters. */
      readonly clTRID?: string | undefined;
      /** Namespaces of the extensions that came with it. */
      readonly extensionUris: readonly string[];
    };

const epp = elementsOf(EPP);
const objectCodecs = { ...domainCodecs, ...contactCodecs, ...hostCodecs, ...balanceCodecs };
const objectVerbs: readonly string[] = ['check', 'info', 'create', 'renew', 'transfer', 'update', 'delete'];
const objectPrefixes: Readonly<Record<string, string>> = {
  [DOMAIN]: 'domain',
  [CONTACT]: 'contact',
  [HOST]: 'host',
  [BALANCE]: 'balance',
};

export function helloElement(): XmlElement {
  return epp('epp', [epp('hello')]);
}

/** The root of the document for a command. */
export function commandElement(command: EppCommand, clTRID: string): XmlElement {
  if (command.kind === 'domain:trade') return tradeElement(command, clTRID);
  const { verb, extensions } = encode(command);
  return epp('epp', [
    epp('command', [verb, extensions.length > 0 ? epp('extension', extensions) : undefined, epp('clTRID', clTRID)]),
  ]);
}

function encode(command: Exclude<EppCommand, TradeCommand>): { verb: XmlElement; extensions: readonly XmlElement[] } {
  switch (command.kind) {
    case 'login':
      return { verb: loginElement(command), extensions: loginExtensions(command) };
    case 'logout':
      return { verb: epp('logout'), extensions: [] };
    case 'poll':
      return { verb: epp('poll', '', pollAttributes(command)), extensions: [] };
    default: {
      const { object, extensions, operation } = codecOf(command.kind).encode(command);
      const attributes = operation === undefined ? {} : { op: operation };
      const product = command.subProduct === undefined ? [] : [subProductElement(command.subProduct)];
      return { verb: epp(object.local, [object], attributes), extensions: [...extensions, ...product] };
    }
  }
}

function pollAttributes(command: PollCommand): Record<string, string> {
  return command.operation === 'ack' ? { op: 'ack', msgID: command.messageId } : { op: 'req' };
}

/** The client's id of a command, if its element can be found at all: for the answer to one that is at fault. */
export function findTransactionId(root: XmlElement): string | undefined {
  const extension = findChild(root, 'extension', EPP)?.children[0];
  const text = findText(findChild(root, 'command', EPP) ?? (extension && findChild(extension, 'command')), 'clTRID');
  return text !== undefined && text.length <= 64 ? text : undefined;
}

/** Throws `EppFault` with the code to answer with. */
export function readRequest(root: XmlElement): Request {
  if (root.uri !== EPP || root.local !== 'epp') throw new EppFault(2001, `the root is ${root.local}, not epp`);
  if (findChild(root, 'hello') !== undefined) return { kind: 'hello' };
  const trade = findTrade(root);
  if (trade !== undefined) {
    requireTransactionId(trade.clTRID);
    return { kind: 'command', ...trade, extensionUris: [trade.command.uri] };
  }
  const command = findChild(root, 'command');
  if (command === undefined) throw new EppFault(2000, 'there is neither a command nor a hello');
  const extensions = findChild(command, 'extension')?.children ?? [];
  const clTRID = findText(command, 'clTRID');
  requireTransactionId(clTRID);
  return {
    kind: 'command',
    command: readCommand(command, extensions),
    clTRID,
    extensionUris: extensions.map(({ uri }) => uri),
  };
}

function requireTransactionId(clTRID: string | undefined): void {
  if (clTRID !== undefined && (clTRID.length < 3 || clTRID.length > 64)) {
    throw new EppFault(2004, 'clTRID has 3 to 64 characters');
  }
}

function readCommand(command: XmlElement, extensions: readonly XmlElement[]): EppCommand {
  const verb = command.children[0];
  if (verb === undefined || verb.uri !== EPP) throw new EppFault(2000, 'the command has no name');
  if (verb.local === 'login') return readLogin(verb, extensions);
  if (verb.local === 'logout') return { kind: 'logout' };
  if (verb.local === 'poll') return readPoll(verb);
  if (!objectVerbs.includes(verb.local)) throw new EppFault(2000, `there is no command ${verb.local}`);
  const object = verb.children[0];
  if (object === undefined) throw new EppFault(2003, `${verb.local} lacks an object`);
  const prefix = objectPrefixes[object.uri];
  if (prefix === undefined) throw new EppFault(2307, `objects of ${object.uri} are not served`);
  if (object.local !== verb.local) throw new EppFault(2001, `${verb.local} holds ${object.local}`);
  const kind = `${prefix}:${verb.local}`;
  if (!isObjectKind(kind)) throw new EppFault(2101, `there is no ${verb.local} of a ${prefix}`);
  const decoded = codecOf(kind).decode({ object, extensions, operation: verb.attributes.op });
  const subProduct = findSubProduct(extensions);
  return subProduct === undefined ? decoded : { ...decoded, subProduct };
}

function readPoll(poll: XmlElement): PollCommand {
  const { op: operation, msgID: messageId } = poll.attributes;
  if (operation === 'req') return { kind: 'poll', operation };
  if (operation !== 'ack') throw new EppFault(2005, 'the op of poll is req or ack');
  if (messageId === undefined || messageId === '') throw new EppFault(2003, 'poll lacks msgID');
  return { kind: 'poll', operation, messageId };
}

function isObjectKind(kind: EppCommand['kind'] | string): kind is ObjectCommand['kind'] {
  return Object.hasOwn(objectCodecs, kind);
}

/** Its codec takes and gives the commands of this kind: the table above is typed kind by kind. */
function codecOf(kind: ObjectCommand['kind']): Codec<ObjectCommand> {
  const codec: Codec<never> | Codec<ObjectCommand> = objectCodecs[kind];
  return codec as Codec<ObjectCommand>;
}

/** About an object that is kept in one of the registries behind a server. */
export function isAboutObject(command: EppCommand): command is ObjectCommand {
  return isObjectKind(command.kind) && command.kind !== 'balance:info';
}

/** For logs and metrics. */
export function describeCommand(command: EppCommand): string {
  return command.kind === 'poll' ? `poll ${command.operation}` : command.kind;
}
