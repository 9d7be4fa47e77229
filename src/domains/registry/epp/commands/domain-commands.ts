/** The commands of the domain mapping (RFC 5731 3) with the extensions that go with them. Names are in lower case. */
import type { DsRecord, LaunchPhaseName } from '../../registry.ts';
import { EppFault } from '../epp-fault.ts';
import { DOMAIN, SEC_DNS } from '../namespaces.ts';
import { elementsOf, findChild, findText, textsOf, type XmlElement } from '../xml/element.ts';
import type { Codec } from './codec.ts';
import {
  type ContactReference,
  contactElement,
  type DomainItems,
  findNameservers,
  itemsElement,
  lower,
  type Nameservers,
  nameOf,
  nameserversElement,
  readContacts,
  readItems,
} from './domain-items.ts';
import { feeElement, feeQuestionElement, findFee, isFee, readFeeQuestion } from './fee.ts';
import type { Fee, FeeQuestion } from './fee-values.ts';
import { findIdn, type IdnTable, idnElement } from './idn.ts';
import {
  type AskedApplication,
  applicationQuestionElement,
  claimsQuestionElement,
  findAskedApplication,
  findClaimsQuestion,
  findLaunchCreate,
  type LaunchCreate,
  launchCreateElement,
} from './launch.ts';
import { findRestore, type Restore, restoreElement } from './rgp.ts';
import { type DsChange, dsCreateElement, dsUpdateElement, readDsRecords, readDsUpdate } from './sec-dns.ts';
import {
  authInfoElement,
  changedAuthInfoElement,
  findAuthInfo,
  findChangedAuthInfo,
  findYears,
  optional,
  requireDate,
  requireSome,
  yearsElement,
} from './values.ts';

export interface DomainCheckCommand {
  readonly kind: 'domain:check';
  readonly names: readonly string[];
  readonly fees?: FeeQuestion | undefined;
  /** In place of whether they are free: whether trademarks claim them, in this phase. */
  readonly claimsIn?: LaunchPhaseName | undefined;
}

export interface DomainInfoCommand {
  readonly kind: 'domain:info';
  readonly name: string;
  /** Of an application for it, in place of the name. */
  readonly application?: AskedApplication | undefined;
  readonly authInfo?: string | undefined;
}

export interface DomainCreateCommand {
  readonly kind: 'domain:create';
  readonly name: string;
  readonly years?: number | undefined;
  readonly nameservers?: Nameservers | undefined;
  readonly registrant?: string | undefined;
  readonly contacts: readonly ContactReference[];
  readonly authInfo?: string | undefined;
  readonly dsRecords: readonly DsRecord[];
  readonly fee?: Fee | undefined;
  /** Of an internationalized name. */
  readonly idn?: IdnTable | undefined;
  /** While a TLD is being launched. */
  readonly launch?: LaunchCreate | undefined;
}

export interface DomainRenewCommand {
  readonly kind: 'domain:renew';
  readonly name: string;
  /** `YYYY-MM-DD`. */
  readonly currentExpiryDate: string;
  readonly years?: number | undefined;
  readonly fee?: Fee | undefined;
}

export type TransferOperation = 'query' | 'request' | 'approve' | 'reject' | 'cancel';

export interface DomainTransferCommand {
  readonly kind: 'domain:transfer';
  readonly operation: TransferOperation;
  readonly name: string;
  readonly years?: number | undefined;
  readonly authInfo?: string | undefined;
  readonly fee?: Fee | undefined;
}

export interface DomainUpdateCommand {
  readonly kind: 'domain:update';
  readonly name: string;
  readonly add?: DomainItems | undefined;
  readonly remove?: DomainItems | undefined;
  readonly registrant?: string | undefined;
  readonly authInfo?: string | undefined;
  readonly ds?: DsChange | undefined;
  readonly restore?: Restore | undefined;
  readonly fee?: Fee | undefined;
}

export interface DomainDeleteCommand {
  readonly kind: 'domain:delete';
  readonly name: string;
}

export type DomainCommand =
  | DomainCheckCommand
  | DomainInfoCommand
  | DomainCreateCommand
  | DomainRenewCommand
  | DomainTransferCommand
  | DomainUpdateCommand
  | DomainDeleteCommand;

const domain = elementsOf(DOMAIN);

export const domainCodecs: { readonly [Kind in DomainCommand['kind']]: Codec<Extract<DomainCommand, { kind: Kind }>> } =
  {
    'domain:check': {
      encode: ({ names, fees, claimsIn }) => ({
        object: domain(
          'check',
          names.map((name) => domain('name', name)),
        ),
        extensions: [
          ...(fees === undefined ? [] : [feeQuestionElement(fees, names)]),
          ...(claimsIn === undefined ? [] : [claimsQuestionElement(claimsIn)]),
        ],
      }),
      decode: ({ object, extensions }) => {
        const question = extensions.find(({ uri, local }) => isFee(uri) && local === 'check');
        return {
          kind: 'domain:check',
          names: requireSome(textsOf(object, 'name').map(lower), 'name'),
          fees: question === undefined ? undefined : readFeeQuestion(question),
          claimsIn: findClaimsQuestion(extensions),
        };
      },
    },
    'domain:info': {
      encode: ({ application, name, authInfo }) => ({
        object: domain('info', [domain('name', name, { hosts: 'all' }), authInfoElement(DOMAIN, authInfo)]),
        extensions: application === undefined ? [] : [applicationQuestionElement(application)],
      }),
      decode: ({ object, extensions }) => ({
        kind: 'domain:info',
        name: nameOf(object),
        authInfo: findAuthInfo(object),
        application: findAskedApplication(extensions),
      }),
    },
    'domain:create': { encode: encodeCreate, decode: decodeCreate },
    'domain:renew': {
      encode: ({ name, currentExpiryDate, years, fee }) => ({
        object: domain('renew', [
          domain('name', name),
          domain('curExpDate', currentExpiryDate),
          yearsElement(DOMAIN, years),
        ]),
        extensions: feeExtension('renew', fee),
      }),
      decode: ({ object, extensions }) => ({
        kind: 'domain:renew',
        name: nameOf(object),
        currentExpiryDate: requireDate(object, 'curExpDate'),
        years: findYears(object),
        fee: findFee(extensions),
      }),
    },
    'domain:transfer': {
      encode: ({ operation, name, years, authInfo, fee }) => ({
        operation,
        object: domain('transfer', [
          domain('name', name),
          yearsElement(DOMAIN, years),
          authInfoElement(DOMAIN, authInfo),
        ]),
        extensions: feeExtension('transfer', fee),
      }),
      decode: ({ object, operation, extensions }) => ({
        kind: 'domain:transfer',
        operation: readTransferOperation(operation),
        name: nameOf(object),
        years: findYears(object),
        authInfo: findAuthInfo(object),
        fee: findFee(extensions),
      }),
    },
    'domain:update': { encode: encodeUpdate, decode: decodeUpdate },
    'domain:delete': {
      encode: ({ name }) => ({ object: domain('delete', [domain('name', name)]), extensions: [] }),
      decode: ({ object }) => ({ kind: 'domain:delete', name: nameOf(object) }),
    },
  };

function encodeCreate(command: DomainCreateCommand) {
  return {
    object: domain('create', [
      domain('name', command.name),
      yearsElement(DOMAIN, command.years),
      nameserversElement(command.nameservers),
      optional(DOMAIN, 'registrant', command.registrant),
      ...command.contacts.map(contactElement),
      authInfoElement(DOMAIN, command.authInfo),
    ]),
    extensions: [
      ...(command.dsRecords.length > 0 ? [dsCreateElement(command.dsRecords)] : []),
      ...feeExtension('create', command.fee),
      ...(command.idn === undefined ? [] : [idnElement(command.idn)]),
      ...(command.launch === undefined ? [] : [launchCreateElement(command.launch)]),
    ],
  };
}

function decodeCreate({ object, extensions }: { object: XmlElement; extensions: readonly XmlElement[] }) {
  return {
    kind: 'domain:create',
    name: nameOf(object),
    years: findYears(object),
    nameservers: findNameservers(object),
    registrant: findText(object, 'registrant'),
    contacts: readContacts(object),
    authInfo: findAuthInfo(object),
    dsRecords: readDsRecords(extensionOf(extensions, SEC_DNS, 'create'), nameOf(object)),
    fee: findFee(extensions),
    idn: findIdn(extensions),
    launch: findLaunchCreate(extensions),
  } as const;
}

function encodeUpdate(command: DomainUpdateCommand) {
  const change = [
    optional(DOMAIN, 'registrant', command.registrant),
    changedAuthInfoElement(DOMAIN, command.authInfo),
  ].filter((member) => member !== undefined);
  // An update without any of the three is no valid document; RFC 3915 sends an empty `chg` with a restoration.
  const needsChange = command.add === undefined && command.remove === undefined;
  return {
    object: domain('update', [
      domain('name', command.name),
      itemsElement('add', command.add),
      itemsElement('rem', command.remove),
      change.length > 0 || needsChange ? domain('chg', change) : undefined,
    ]),
    extensions: [
      ...(command.ds === undefined ? [] : [dsUpdateElement(command.ds)]),
      ...(command.restore === undefined ? [] : [restoreElement(command.restore)]),
      ...feeExtension('update', command.fee),
    ],
  };
}

function decodeUpdate({ object, extensions }: { object: XmlElement; extensions: readonly XmlElement[] }) {
  const change = findChild(object, 'chg');
  const ds = extensionOf(extensions, SEC_DNS, 'update');
  return {
    kind: 'domain:update',
    name: nameOf(object),
    add: readItems(findChild(object, 'add')),
    remove: readItems(findChild(object, 'rem')),
    registrant: findText(change, 'registrant'),
    authInfo: change === undefined ? undefined : findChangedAuthInfo(change),
    ds: ds === undefined ? undefined : readDsUpdate(ds, nameOf(object)),
    restore: findRestore(extensions),
    fee: findFee(extensions),
  } as const;
}

function readTransferOperation(operation: string | undefined): TransferOperation {
  switch (operation) {
    case 'query':
    case 'request':
    case 'approve':
    case 'reject':
    case 'cancel':
      return operation;
    case undefined:
      throw new EppFault(2003, 'transfer lacks op');
    default:
      throw new EppFault(2005, `transfer has no op ${operation}`);
  }
}

function feeExtension(local: string, fee: Fee | undefined): XmlElement[] {
  return fee === undefined ? [] : [feeElement(local, fee)];
}

function extensionOf(extensions: readonly XmlElement[], uri: string, local: string): XmlElement | undefined {
  return extensions.find((extension) => extension.uri === uri && extension.local === local);
}
