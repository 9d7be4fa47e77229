/** Carries out the commands of the domain mapping. */
import type { DsRecord, LaunchPhaseName } from '../../registry.ts';
import type { ClientStatus, DomainCheck, DomainInfo, DomainTransfer, Fees, SetChange } from '../../simulated/index.ts';
import type {
  DomainCheckCommand,
  DomainCommand,
  DomainCreateCommand,
  DomainInfoCommand,
  DomainTransferCommand,
  DomainUpdateCommand,
} from '../commands/domain-commands.ts';
import type { DomainItems, Nameservers } from '../commands/domain-items.ts';
import {
  type CheckResult,
  checkResultsElement,
  createdDomainElement,
  domainDataElement,
  renewedDomainElement,
  transferElement,
} from '../commands/domain-results.ts';
import { feeAnswersElement, feeElement } from '../commands/fee.ts';
import type { Fee, FeeAnswer, FeeCommand } from '../commands/fee-values.ts';
import { type Claim, claimsElement } from '../commands/launch.ts';
import { rgpStatusElement } from '../commands/rgp.ts';
import { type DnssecInterface, type DsChange, dsInfoElement } from '../commands/sec-dns.ts';
import { EppFault } from '../epp-fault.ts';
import { DOMAIN } from '../namespaces.ts';
import type { XmlElement } from '../xml/element.ts';
import {
  type Answer,
  agreedCents,
  agreedExtensions,
  answerOf,
  type CommandContext,
  CURRENCY,
  required,
} from './answers.ts';
import { addressesBelow, checkTable, hostNamesOf, registrantOf, requireInterface } from './habits.ts';
import {
  answerApplicationInfo,
  applicationFeeOf,
  applicationOf,
  checkLaunch,
  isApplicationOnly,
  launchOf,
} from './launches.ts';
import { checkHolder } from './trades.ts';

export async function answerDomainCommand(context: CommandContext, command: DomainCommand): Promise<Answer> {
  const { core, session } = context;
  switch (command.kind) {
    case 'domain:check':
      return answerCheck(context, command);
    case 'domain:info':
      return answerInfo(context, command);
    case 'domain:create':
      return answerCreate(context, command);
    case 'domain:renew': {
      const { name, currentExpiryDate, years = 1, fee } = command;
      const reply = await core.renewDomain(session, { name, currentExpiryDate, years, ...agreedCents(fee) });
      return answerOf(reply, ({ expiresAt, feeCents }) => ({
        data: renewedDomainElement({ name, expiresAt: expiresAt.toISOString() }),
        extensions: paidExtension(context, fee, 'renData', feeCents),
      }));
    }
    case 'domain:transfer':
      return answerTransfer(context, command);
    case 'domain:update':
      return answerUpdate(context, command);
    case 'domain:delete':
      return answerOf(await core.deleteDomain(session, command));
  }
}

async function answerInfo(context: CommandContext, command: DomainInfoCommand): Promise<Answer> {
  if (command.application !== undefined) return answerApplicationInfo(context, command.name, command.application);
  const reply = await context.core.infoDomain(context.session, command);
  if (reply.ok && isApplicationOnly(context, reply.data)) throw new EppFault(2303, 'name: it is only applied for');
  const below = reply.ok ? await addressesBelow(context, reply.data.name, reply.data.nameservers) : {};
  return answerOf(reply, (info) => ({
    data: domainDataElement(domainData(context, info, below)),
    extensions: agreedExtensions(context, infoExtensions(context, info)),
  }));
}

const checkReasons: Readonly<Record<DomainCheck['state'], string | undefined>> = {
  available: undefined,
  taken: 'In use',
  reserved: 'Reserved',
  invalid: 'Invalid name',
  not_served: 'Zone not served',
};

async function answerCheck(context: CommandContext, { names, fees, claimsIn }: DomainCheckCommand): Promise<Answer> {
  const { claims } = context.habits;
  if (claimsIn !== undefined && claims !== undefined)
    return { code: 1000, extensions: [claimsElement(claimsIn, claimsOf(names, claims), validatorOf(context, names))] };
  if (fees?.currency !== undefined && fees.currency !== CURRENCY)
    throw new EppFault(2004, `currency: fees are in ${CURRENCY}`);
  const reply = await context.core.checkDomains(context.session, names);
  return answerOf(reply, (checks) => {
    const results = checks.map(
      ({ name, state }): CheckResult => ({
        value: name,
        available: state === 'available',
        reason: checkReasons[state],
      }),
    );
    const answers = checks.map(
      (check): FeeAnswer => ({
        name: check.name,
        ...(check.fees?.isPremium === true ? { category: 'premium' } : {}),
        commands: (fees?.commands ?? []).map(({ name, phase, years = 1 }) => ({
          name,
          ...(phase && launchOf(context.habits, check.name) && { phase }),
          ...(name === 'restore' ? {} : { years }),
          ...(check.fees === undefined || !isPricedIn(context, check.name, phase)
            ? {}
            : {
                ...withApplication(context, check.name, { command: name, cents: feeOf(check.fees, name, years) }),
                isStandard: check.fees.isPremium !== true,
              }),
        })),
      }),
    );
    return {
      data: checkResultsElement(DOMAIN, 'name', results),
      extensions: fees === undefined ? [] : agreedExtensions(context, [feeAnswersElement(fees.uri, CURRENCY, answers)]),
    };
  });
}

function claimsOf(names: readonly string[], claims: ReadonlyMap<string, string>): Claim[] {
  return names.map((name) => ({ name, exists: claims.has(name), key: claims.get(name) }));
}

/** Of the notices: each launch has one. */
function validatorOf({ habits }: CommandContext, [name = '']: readonly string[]): string | undefined {
  return launchOf(habits, name)?.validator;
}

/** A phase that its zone is not in has no prices. One that is not being launched is open. */
function isPricedIn({ habits }: CommandContext, name: string, asked: LaunchPhaseName | undefined): boolean {
  const { phase }: { phase: LaunchPhaseName } = launchOf(habits, name) ?? { phase: { phase: 'open' } };
  return asked === undefined || (asked.phase === phase.phase && asked.name === phase.name);
}

function withApplication(
  context: CommandContext,
  name: string,
  { cents, command }: { readonly cents: number; readonly command: FeeCommand },
) {
  const application = command === 'create' ? applicationFeeOf(context, name) : undefined;
  if (application === undefined) return { amountCents: cents };
  const { feeCents: amountCents, isRefunded: isRefundable } = application;
  return { amountCents: cents + amountCents, application: { amountCents, isRefundable } };
}

function feeOf(fees: Fees, command: FeeCommand, years: number): number {
  switch (command) {
    case 'create':
      return fees.createCents * years;
    case 'renew':
      return fees.renewCents * years;
    case 'transfer':
      return fees.transferCents;
    case 'restore':
      return fees.restoreCents;
  }
}

async function answerCreate(context: CommandContext, command: DomainCreateCommand): Promise<Answer> {
  if (command.dsRecords.length > 0) requireInterface(context.habits, interfaceOf(command.dsRecords));
  checkTable(context.habits, command.name, command.idn);
  checkLaunch(context, command);
  const reply = await context.core.createDomain(context.session, {
    name: command.name,
    years: command.years ?? 1,
    registrant: await registrantOf(context, command),
    authInfo: required(command.authInfo, 'authInfo'),
    contacts: command.contacts,
    nameservers: await hostNamesOf(context, command.name, command.nameservers),
    dsRecords: command.dsRecords,
    application: applicationFeeOf(context, command.name),
    ...agreedCents(command.fee),
  });
  return answerOf(reply, ({ name, createdAt, expiresAt, feeCents }) => ({
    data: createdDomainElement({ name, createdAt: createdAt.toISOString(), expiresAt: expiresAt.toISOString() }),
    extensions: [
      ...paidExtension(context, command.fee, 'creData', feeCents),
      ...applicationOf(context, name, reply.svTRID),
    ],
  }));
}

async function answerTransfer(context: CommandContext, command: DomainTransferCommand): Promise<Answer> {
  const { core, session } = context;
  const { name, authInfo, years } = command;
  const present = (transfer: DomainTransfer) => ({ data: transferElement(transferData(transfer)) });
  switch (command.operation) {
    case 'query':
      return answerOf(await core.queryTransfer(session, { name, authInfo }), present);
    case 'approve':
      return answerOf(await core.approveTransfer(session, { name }), present);
    case 'reject':
      return answerOf(await core.rejectTransfer(session, { name }), present);
    case 'cancel':
      return answerOf(await core.cancelTransfer(session, { name }), present);
    case 'request': {
      const request = { name, authInfo: required(authInfo, 'authInfo'), ...agreedCents(command.fee) };
      return answerOf(
        await core.requestTransfer(session, years === undefined ? request : { ...request, years }),
        present,
      );
    }
  }
}

async function answerUpdate(context: CommandContext, command: DomainUpdateCommand): Promise<Answer> {
  const { core, session } = context;
  const { name, add, remove, registrant, authInfo, ds, restore } = command;
  if (restore !== undefined) {
    if (add !== undefined || remove !== undefined) throw new EppFault(2306, 'a restoration goes alone');
    if (restore.operation === 'report') {
      // RFC 3915 4.2.5: what they state is the registrar's affair.
      if (restore.report.statements.length !== 2) throw new EppFault(2003, 'a report has two statements');
      return answerOf(await core.reportRestore(session, { name }));
    }
    const reply = await core.restoreDomain(session, { name, ...agreedCents(command.fee) });
    return answerOf(reply, ({ awaitsReport, feeCents }) => ({
      extensions: [
        ...(awaitsReport ? [rgpStatusElement('upData', ['pendingRestore'])] : []),
        ...paidExtension(context, command.fee, 'updData', feeCents),
      ],
    }));
  }
  requireInterface(context.habits, ds?.by);
  await checkHolder(context, command);
  const reply = await core.updateDomain(session, {
    name,
    ...(registrant === undefined ? {} : { registrant }),
    ...(authInfo === undefined ? {} : { authInfo }),
    ...(ds === undefined ? {} : { dsRecords: dsChange(ds) }),
    ...(add === undefined && remove === undefined ? {} : await itemChanges(context, name, { add, remove })),
  });
  return answerOf(reply);
}

async function itemChanges(
  context: CommandContext,
  name: string,
  { add, remove }: Pick<DomainUpdateCommand, 'add' | 'remove'>,
) {
  const change = <Item>(read: (items: DomainItems) => readonly Item[]): SetChange<Item> => ({
    ...(add === undefined ? {} : { add: read(add) }),
    ...(remove === undefined ? {} : { remove: read(remove) }),
  });
  return {
    statuses: change((items) => items.statuses.map(clientStatus)),
    nameservers: {
      ...(add === undefined ? {} : { add: await hostNamesOf(context, name, add.nameservers) }),
      ...(remove === undefined ? {} : { remove: remove.nameservers?.names ?? [] }),
    },
    contacts: change((items) => items.contacts),
  };
}

function interfaceOf(records: readonly DsRecord[]): DnssecInterface {
  return records.some(({ key }) => key !== undefined) ? 'keyData' : 'dsData';
}

function dsChange({ removeAll = false, remove, add }: DsChange) {
  if (removeAll) return { set: add ?? [] };
  return { ...(add === undefined ? {} : { add }), ...(remove === undefined ? {} : { remove }) };
}

function clientStatus(status: string): ClientStatus {
  switch (status) {
    case 'clientDeleteProhibited':
    case 'clientHold':
    case 'clientRenewProhibited':
    case 'clientTransferProhibited':
    case 'clientUpdateProhibited':
      return status;
    default:
      throw new EppFault(2306, `status: ${status} is not for registrars to set`);
  }
}

function domainData({ habits }: CommandContext, info: DomainInfo, below: Pick<Nameservers, 'addresses'>) {
  return {
    ...info,
    ...(habits.contacts === 'none' ? { registrant: undefined, contacts: [] } : {}),
    nameservers: { model: habits.nameservers, names: info.nameservers, ...below },
    createdAt: info.createdAt.toISOString(),
    updatedAt: info.updatedAt?.toISOString(),
    transferredAt: info.transferredAt?.toISOString(),
    expiresAt: info.expiresAt.toISOString(),
  } as const;
}

function infoExtensions({ habits: { dnssec } }: CommandContext, info: DomainInfo): (XmlElement | undefined)[] {
  return [
    info.dsRecords.length > 0 && dnssec !== 'none' ? dsInfoElement(info.dsRecords, dnssec) : undefined,
    info.rgpStatuses.length > 0 ? rgpStatusElement('infData', info.rgpStatuses) : undefined,
  ];
}

export function transferData(transfer: DomainTransfer) {
  return {
    ...transfer,
    requestedAt: transfer.requestedAt.toISOString(),
    actedAt: transfer.actedAt.toISOString(),
    expiresAt: transfer.expiresAt.toISOString(),
  };
}

/** What was paid, for a client that said what it would pay. */
function paidExtension(context: CommandContext, agreed: Fee | undefined, local: string, feeCents: number) {
  if (agreed === undefined) return [];
  return agreedExtensions(context, [feeElement(local, { uri: agreed.uri, currency: CURRENCY, amountCents: feeCents })]);
}
