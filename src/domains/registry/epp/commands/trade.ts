/**
 * Another holder for a name: AFNIC's trade, a command that stands beside those of EPP in an extension of the protocol (RFC 5730 2.7.1), and that is
 * answered in an extension of the response. It is ended by both holders, who consent to it at the registry, and by nobody else.
 */
import { EppFault } from '../epp-fault.ts';
import { EPP, FRNIC_URIS } from '../namespaces.ts';
import { elementsOf, findChild, findText, type XmlElement } from '../xml/element.ts';
import type { ContactReference } from './domain-items.ts';
import { lower, nameOf, readContacts } from './domain-items.ts';
import { findTime, optional, readBoolean, requireChild, requireText, requireTime } from './values.ts';

interface NamedTrade {
  readonly kind: 'domain:trade';
  /** The namespace of the extension: its version. */
  readonly uri: string;
  readonly name: string;
}

export type TradeCommand =
  | (NamedTrade & { readonly operation: 'query' })
  | (NamedTrade & {
      readonly operation: 'request';
      /** Ids of contacts. */
      readonly registrant: string;
      readonly contacts: readonly ContactReference[];
      /** Whether the name keeps its DS records. */
      readonly keepsKeys: boolean;
    });

export interface TradeData {
  readonly name: string;
  /** RFC 5730 2.9.3.4: pending, serverApproved, serverCancelled… */
  readonly status: string;
  readonly requestedBy: string;
  readonly requestedAt: string;
  /** Who is to hold it; some answers leave it out. */
  readonly nextHolder?: string | undefined;
  /** When that one has consented, or has to. */
  readonly nextConsentAt?: string | undefined;
  /** The registrar that has the name, and who holds it there. */
  readonly sponsor: string;
  readonly presentHolder?: string | undefined;
  readonly presentConsentAt?: string | undefined;
}

const epp = elementsOf(EPP);

/** The root of the document. */
export function tradeElement(command: TradeCommand, clTRID: string): XmlElement {
  const frnic = elementsOf(command.uri);
  const isRequest = command.operation === 'request';
  const domain = frnic(
    'domain',
    [
      frnic('name', command.name),
      ...(isRequest
        ? [
            frnic('registrant', command.registrant),
            ...command.contacts.map(({ id, type }) => frnic('contact', id, { type })),
          ]
        : []),
    ],
    isRequest ? { keepDS: command.keepsKeys ? '1' : '0' } : {},
  );
  const trade = frnic('trade', [domain], { op: command.operation });
  return epp('epp', [epp('extension', [frnic('ext', [frnic('command', [trade, frnic('clTRID', clTRID)])])])]);
}

/** Undefined: the document has another command, or none. Throws `EppFault`. */
export function findTrade(
  root: XmlElement,
): { readonly command: TradeCommand; readonly clTRID: string | undefined } | undefined {
  const extension = findChild(root, 'extension');
  if (extension === undefined) return undefined;
  const ext = extension.children.find(({ local, uri }) => local === 'ext' && FRNIC_URIS.includes(uri));
  if (ext === undefined) throw new EppFault(2103, 'the extension is not known');
  const parent = requireChild(ext, 'command');
  const trade = findChild(parent, 'trade');
  if (trade === undefined) throw new EppFault(2101, 'the extension has trades alone');
  return { command: readTradeCommand(trade), clTRID: findText(parent, 'clTRID') };
}

function readTradeCommand(trade: XmlElement): TradeCommand {
  const { uri } = trade;
  const domain = requireChild(trade, 'domain');
  const named = { kind: 'domain:trade', uri, name: nameOf(domain) } as const;
  const { op: operation } = trade.attributes;
  switch (operation) {
    case 'query':
      return { ...named, operation };
    case 'request':
      return {
        ...named,
        operation,
        registrant: requireText(domain, 'registrant'),
        contacts: readContacts(domain),
        keepsKeys: readBoolean(domain.attributes.keepDS, 'keepDS'),
      };
    default:
      throw new EppFault(2102, 'the op of trade is request or query here');
  }
}

/** In the answer to a trade, and in messages about one. */
export function tradeDataElement(uri: string, data: TradeData): XmlElement {
  const frnic = elementsOf(uri);
  const domain = frnic('domain', [
    frnic('name', data.name),
    frnic('trStatus', data.status),
    frnic('reID', data.requestedBy),
    frnic('reDate', data.requestedAt),
    optional(uri, 'reHldID', data.nextHolder),
    optional(uri, 'rhDate', data.nextConsentAt),
    frnic('acID', data.sponsor),
    optional(uri, 'acHldID', data.presentHolder),
    optional(uri, 'ahDate', data.presentConsentAt),
  ]);
  return frnic('ext', [frnic('resData', [frnic('trdData', [domain])])]);
}

/** Throws `EppFault`. */
export function findTradeData(extensions: readonly XmlElement[]): TradeData | undefined {
  const ext = extensions.find(({ local, uri }) => local === 'ext' && FRNIC_URIS.includes(uri));
  const results = ext && findChild(ext, 'resData');
  const found = results && findChild(results, 'trdData');
  if (found === undefined) return undefined;
  const domain = requireChild(found, 'domain');
  return {
    name: lower(requireText(domain, 'name')),
    status: requireText(domain, 'trStatus'),
    requestedBy: requireText(domain, 'reID'),
    requestedAt: requireTime(domain, 'reDate'),
    nextHolder: findText(domain, 'reHldID'),
    nextConsentAt: findTime(domain, 'rhDate'),
    sponsor: requireText(domain, 'acID'),
    presentHolder: findText(domain, 'acHldID'),
    presentConsentAt: findTime(domain, 'ahDate'),
  };
}
