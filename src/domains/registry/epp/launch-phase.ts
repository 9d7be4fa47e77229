/** What comes with the registration of a name of a TLD that is being launched (RFC 8334), and what becomes of applications. */
import { isAcceptanceLive } from '../claims-notices.ts';
import type { ApplicationState, CreateCommand, LaunchDemand, MutationOutcome } from '../registry.ts';
import { isSuccess, OBJECT_DOES_NOT_EXIST } from '../result-codes.ts';
import { zoneOf } from '../routing-registry.ts';
import { findApplication, findClaims, type LaunchCreate } from './commands/launch.ts';
import { LAUNCH } from './namespaces.ts';
import { refusalOf, rejected } from './outcomes.ts';
import type { LaunchPhase, RegistryLink } from './registry-link.ts';
import { findMarkProblem } from './signed-mark.ts';

const NO_DEMAND: LaunchDemand = { kind: 'none' };

/** Of each name, in their order: one question where trademarks may claim some of them. Throws what asking throws. */
export async function readLaunchDemands(
  link: RegistryLink,
  names: readonly string[],
  timeoutMs?: number,
): Promise<LaunchDemand[]> {
  const phases = names.map((name) => phaseNow(link, zoneOf(name)));
  const asked = names.filter((_, index) => phases[index]?.phase === 'claims');
  const answers = asked.length === 0 ? new Map<string, LaunchDemand>() : await askClaims(link, asked, timeoutMs);
  const takesMarks = phases.some((phase) => phase?.phase === 'sunrise') && (await link.supports(LAUNCH, timeoutMs));
  return names.map((name, index) => {
    const phase = phases[index];
    if (phase === undefined) return NO_DEMAND;
    const zone = zoneOf(name);
    if (phase.phase === 'sunrise') {
      if (takesMarks) return { kind: 'signed_mark', isApplication: phase.applications === true };
      return refused(`names of ${zone} are only for holders of trademarks now, and the registry takes no signed marks`);
    }
    const unsaid = `${name} cannot be bought here while ${zone} is being launched: the registry does not say whether a trademark claims it`;
    return answers.get(name) ?? refused(unsaid);
  });
}

/** Whoever buys waits for it, before anything is charged. Throws what asking throws. */
export async function readLaunchDemand(link: RegistryLink, name: string, signedMark?: string): Promise<LaunchDemand> {
  const [demand = NO_DEMAND] = await readLaunchDemands(link, [name], TIMEOUT_MS);
  if (demand.kind !== 'signed_mark' || signedMark === undefined) return demand;
  const problem = findMarkProblem(signedMark, labelOf(name), link.rules.clock.now());
  return problem === undefined ? demand : refused(problem);
}

const TIMEOUT_MS = 2_000;

function labelOf(name: string): string {
  return name.slice(0, name.indexOf('.'));
}

function phaseNow({ rules: { clock, launchPhaseOf } }: RegistryLink, zone: string): LaunchPhase | undefined {
  const launch = launchPhaseOf?.(zone);
  return launch?.until !== undefined && launch.until <= clock.now() ? undefined : launch;
}

async function askClaims(
  link: RegistryLink,
  names: readonly string[],
  timeoutMs: number | undefined,
): Promise<Map<string, LaunchDemand>> {
  if (!(await link.supports(LAUNCH, timeoutMs))) return new Map();
  const response = await link.askRepeatable({ kind: 'domain:check', names, asksClaims: true }, undefined, timeoutMs);
  if (!isSuccess(response.code)) throw refusalOf(response);
  return new Map(
    findClaims(response.extensions)?.map(({ exists, key, name }) => {
      if (!exists) return [name, NO_DEMAND];
      if (key !== undefined && key !== '') return [name, { kind: 'claims_notice', lookupKey: key }];
      return [name, refused(`a trademark claims ${name}, and the registry does not say where its notice is`)];
    }),
  );
}

function refused(reason: string): LaunchDemand {
  return { kind: 'refused', reason };
}

/** What the create has to come with, or why it is not sent. Throws what asking throws. */
export async function launchDataOf(
  link: RegistryLink,
  { claimsNotice, name, signedMark }: Pick<CreateCommand, 'claimsNotice' | 'name' | 'signedMark'>,
): Promise<{ readonly launch?: LaunchCreate } | { readonly outcome: MutationOutcome }> {
  const demand = await readLaunchDemand(link, name, signedMark);
  const refuse = (reason: string) => ({ outcome: rejected('policy', reason) });
  switch (demand.kind) {
    case 'none':
      return {};
    case 'refused':
      return refuse(demand.reason);
    case 'signed_mark':
      if (signedMark === undefined) return refuse(`names of ${zoneOf(name)} are only for holders of trademarks now`);
      return { launch: { kind: 'signed_mark', signedMark, isApplication: demand.isApplication } };
    case 'claims_notice':
      if (claimsNotice === undefined) return refuse(`a trademark claims ${name}, and its notice was not accepted`);
      if (!isAcceptanceLive(claimsNotice, link.rules.clock.now())) {
        return refuse(`the acceptance of the claims notice of ${name} ended before the registry took the name`);
      }
      return { launch: { kind: 'notice', notice: claimsNotice } };
    default:
      return demand satisfies never;
  }
}

/** Undefined: the registry does not know it, or does not tell. Throws what asking throws. */
export async function askApplication(
  link: RegistryLink,
  name: string,
  applicationId: string,
): Promise<ApplicationState | undefined> {
  const response = await link.askRepeatable({ kind: 'domain:info', name, applicationId });
  if (response.code === OBJECT_DOES_NOT_EXIST) return undefined;
  if (!isSuccess(response.code)) throw refusalOf(response);
  const found = findApplication(response.extensions);
  return found?.id === applicationId ? stateOf(found.status) : undefined;
}

/** `invalid` may still be put right (RFC 8334 2.3): only the last word counts. */
function stateOf(status: string | undefined): ApplicationState {
  return status === 'allocated' || status === 'rejected' ? status : 'pending';
}
