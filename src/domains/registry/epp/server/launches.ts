/** TLDs that are being launched: notices of claims, signed marks, and applications (RFC 8334). */
import { createHash } from 'node:crypto';
import { isAcceptanceLive, isNoticeOf } from '../../claims-notices.ts';
import { zoneOf } from '../../routing-registry.ts';
import type { DomainInfo, PendingAction } from '../../simulated/index.ts';
import type { DomainCreateCommand } from '../commands/domain-commands.ts';
import { domainDataElement } from '../commands/domain-results.ts';
import { applicationElement } from '../commands/launch.ts';
import { EppFault } from '../epp-fault.ts';
import { findMarkProblem } from '../signed-mark.ts';
import type { XmlElement } from '../xml/element.ts';
import { type Answer, agreedExtensions, type CommandContext } from './answers.ts';

const labelOf = (name: string) => name.slice(0, name.indexOf('.'));

/** Throws where a name comes without the notice or the mark that it needs, with one that is of no use to it, or with one that it does not need. */
export function checkLaunch({ clock, habits }: CommandContext, { launch, name }: DomainCreateCommand): void {
  const isClaimed = habits.claims?.has(name) === true;
  const isSunrise = habits.sunrise?.zones.includes(zoneOf(name)) === true;
  if (isSunrise && launch?.kind !== 'signed_mark') throw new EppFault(2306, 'the name needs a signed mark');
  if (isClaimed && launch?.kind !== 'notice') throw new EppFault(2306, 'the name needs an accepted notice');
  switch (launch?.kind) {
    case undefined:
      return;
    case 'signed_mark': {
      if (!isSunrise) throw new EppFault(2306, 'launch: there is no sunrise');
      const problem = findMarkProblem(launch.signedMark, labelOf(name), clock.now());
      if (problem !== undefined) throw new EppFault(2306, `launch: ${problem}`);
      if (launch.isApplication === habits.sunrise?.applications) return;
      throw new EppFault(
        2306,
        `launch: the sunrise takes ${launch.isApplication ? 'no applications' : 'applications alone'}`,
      );
    }
    case 'notice': {
      const { notice } = launch;
      if (!isClaimed) throw new EppFault(2306, 'launch: no trademark claims the name');
      if (!isNoticeOf(labelOf(name), { id: notice.noticeId, notAfter: new Date(notice.notAfter) })) {
        throw new EppFault(2306, 'launch: the notice is of another name');
      }
      if (isAcceptanceLive(notice, clock.now())) return;
      throw new EppFault(2306, 'launch: the notice, or its acceptance, has ended');
    }
  }
}

export function takesApplications({ habits: { sunrise } }: Pick<CommandContext, 'habits'>, name: string): boolean {
  return sunrise?.applications === true && sunrise.zones.includes(zoneOf(name));
}

/** It leads back to the name. `svTRID`: of the create. */
export function applicationIdOf(name: string, svTRID: string): string {
  return `${Buffer.from(name).toString('hex')}-${createHash('sha256').update(svTRID).digest('hex').slice(0, 8)}`;
}

/** The name is not there before its application is decided about. */
export function isApplicationOnly(context: CommandContext, { name, statuses }: DomainInfo): boolean {
  return takesApplications(context, name) && statuses.includes('pendingCreate');
}

export async function answerApplicationInfo(context: CommandContext, name: string, id: string): Promise<Answer> {
  const { core, session } = context;
  if (!takesApplications(context, name) || !id.startsWith(`${Buffer.from(name).toString('hex')}-`)) {
    throw new EppFault(2303, 'launch: there is no such application');
  }
  const reply = await core.infoDomain(session, { name });
  const found = reply.ok && reply.data.sponsor === session.registrarId ? reply.data : undefined;
  const status =
    found === undefined ? 'rejected' : isApplicationOnly(context, found) ? 'pendingAllocation' : 'allocated';
  const sponsor = session.registrarId;
  return {
    code: 1000,
    svTRID: reply.svTRID,
    data: domainDataElement({
      name,
      roid: `APP-${id.slice(-8)}`,
      statuses: [],
      contacts: [],
      subordinateHosts: [],
      sponsor,
    }),
    extensions: agreedExtensions(context, [applicationElement('infData', { id, status })]),
  };
}

/** What a message about the end of a create says of its application. */
export function applicationEndOf(context: CommandContext, action: PendingAction): XmlElement[] {
  const { command, name, succeeded, svTRID } = action;
  if (command !== 'create' || !takesApplications(context, name)) return [];
  const status = succeeded ? 'allocated' : 'rejected';
  return agreedExtensions(context, [applicationElement('infData', { id: applicationIdOf(name, svTRID), status })]);
}
