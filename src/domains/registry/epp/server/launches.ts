/** TLDs that are being launched: notices of claims, signed marks, and applications (RFC 8334). */
import { createHash } from 'node:crypto';
import { isAcceptanceLive, isNoticeOf, TMCH } from '../../claims-notices.ts';
import { zoneOf } from '../../routing-registry.ts';
import type { DomainInfo, PendingAction } from '../../simulated/index.ts';
import type { DomainCreateCommand } from '../commands/domain-commands.ts';
import { domainDataElement } from '../commands/domain-results.ts';
import { type AskedApplication, applicationElement, type LaunchCreate } from '../commands/launch.ts';
import { EppFault } from '../epp-fault.ts';
import { findHeldProblem, hasMark } from '../signed-mark.ts';
import type { XmlElement } from '../xml/element.ts';
import { type Answer, agreedExtensions, type CommandContext } from './answers.ts';
import type { ServedLaunch, ServerHabits } from './habits.ts';

const labelOf = (name: string) => name.slice(0, name.indexOf('.'));

/** Undefined: names under its zone are registered as ever. */
export function launchOf({ launches, sunrise }: ServerHabits, name: string): ServedLaunch | undefined {
  const zone = zoneOf(name);
  if (sunrise?.zones.includes(zone)) return { ...SUNRISE, ...sunrise };
  return launches?.find(({ zones }) => zones.includes(zone));
}

const SUNRISE = { phase: { phase: 'sunrise' }, marks: 'signed_mark', applicationCents: 0, refundsLost: true } as const;

/** Throws where a name comes without the phase, the notice or the mark that it needs, with one that is of no use to it, or with one that it does not need. */
export function checkLaunch({ clock, habits }: CommandContext, { launch: given, name }: DomainCreateCommand): void {
  const isClaimed = habits.claims?.has(name) === true;
  const launch = launchOf(habits, name);
  const { codes, marks, validator = TMCH } = launch ?? {};
  if (marks !== undefined && !hasMark(marks, given ?? {})) {
    throw new EppFault(2306, `the name needs a ${marks.replaceAll('_', ' ')}`);
  }
  if (isClaimed && given?.notice === undefined) throw new EppFault(2306, 'the name needs an accepted notice');
  if (given === undefined && launch === undefined) return;
  checkPhase(launch, given, isClaimed);
  const { mark, markCode, notice, signedMark } = given ?? {};
  if (marks === undefined && (signedMark ?? markCode ?? mark) !== undefined) {
    throw new EppFault(2306, 'launch: there is no sunrise');
  }
  if ((markCode ?? notice) !== undefined && given?.validator !== validator) {
    throw new EppFault(2306, `launch: what ${given?.validator} has validated does not count`);
  }
  if (marks !== undefined) {
    const problem = findHeldProblem(marks, given ?? {}, { label: labelOf(name), now: clock.now() });
    if (problem !== undefined) throw new EppFault(2306, `launch: ${problem}`);
  }
  if (markCode !== undefined && codes?.get(name) !== markCode) throw new EppFault(2306, 'launch: the code is wrong');
  if (notice !== undefined) {
    if (!isClaimed) throw new EppFault(2306, 'launch: no trademark claims the name');
    if (!isNoticeOf(labelOf(name), { id: notice.noticeId, notAfter: new Date(notice.notAfter) })) {
      throw new EppFault(2306, 'launch: the notice is of another name');
    }
    if (!isAcceptanceLive(notice, clock.now())) {
      throw new EppFault(2306, 'launch: the notice, or its acceptance, has ended');
    }
  }
}

function checkPhase(launch: ServedLaunch | undefined, given: LaunchCreate | undefined, isClaimed: boolean): void {
  if (launch === undefined) {
    if (!isClaimed && given?.notice !== undefined) throw new EppFault(2306, 'launch: no trademark claims the name');
    if (isClaimed && given?.phase.phase === 'claims' && !given.isApplication) return;
    throw new EppFault(2306, isClaimed ? 'launch: this is the claims phase' : 'launch: the phase is over');
  }
  const { applications, phase } = launch;
  if (given?.phase.phase !== phase.phase || given.phase.name !== phase.name) {
    throw new EppFault(2306, `launch: the phase is ${[phase.phase, phase.name].filter(Boolean).join(' ')}`);
  }
  if (given.isApplication === applications) return;
  const takes = applications ? 'applications alone' : 'no applications';
  throw new EppFault(2306, `launch: the ${phase.phase} takes ${takes}`);
}

function takesApplications({ habits }: Pick<CommandContext, 'habits'>, name: string): boolean {
  return launchOf(habits, name)?.applications === true;
}

/** What the registration of the name costs beside its years; undefined: nothing. */
export function applicationFeeOf(
  { habits }: Pick<CommandContext, 'habits'>,
  name: string,
): { readonly feeCents: number; readonly isRefunded: boolean } | undefined {
  const launch = launchOf(habits, name);
  if (launch === undefined || !launch.applications || launch.applicationCents === 0) return undefined;
  return { feeCents: launch.applicationCents, isRefunded: launch.refundsLost };
}

/** It leads back to the name. `svTRID`: of the create. */
function applicationIdOf(name: string, svTRID: string): string {
  return `${Buffer.from(name).toString('hex')}-${createHash('sha256').update(svTRID).digest('hex').slice(0, 8)}`;
}

/** The name is not there before its application is decided about. */
export function isApplicationOnly(context: CommandContext, { name, statuses }: DomainInfo): boolean {
  return takesApplications(context, name) && statuses.includes('pendingCreate');
}

export async function answerApplicationInfo(
  context: CommandContext,
  name: string,
  { id, phase }: AskedApplication,
): Promise<Answer> {
  const { core, session } = context;
  const launch = launchOf(context.habits, name);
  const isOfPhase = launch?.phase.phase === phase.phase && launch.phase.name === phase.name;
  if (!isOfPhase || !launch.applications || !id.startsWith(`${Buffer.from(name).toString('hex')}-`)) {
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
    extensions: agreedExtensions(context, [applicationElement('infData', { id, phase, status })]),
  };
}

/** What a message about the end of a create says of its application. */
export function applicationEndOf(context: CommandContext, action: PendingAction): XmlElement[] {
  const { command, name, succeeded, svTRID } = action;
  const launch = launchOf(context.habits, name);
  if (command !== 'create' || launch?.applications !== true) return [];
  const { phase } = launch;
  const status = succeeded ? 'allocated' : 'rejected';
  return agreedExtensions(context, [
    applicationElement('infData', { id: applicationIdOf(name, svTRID), phase, status }),
  ]);
}

/** In the answer to a create; none where it is no application. */
export function applicationOf({ habits }: Pick<CommandContext, 'habits'>, name: string, svTRID: string): XmlElement[] {
  const launch = launchOf(habits, name);
  if (launch?.applications !== true) return [];
  return [applicationElement('creData', { id: applicationIdOf(name, svTRID), phase: launch.phase })];
}
