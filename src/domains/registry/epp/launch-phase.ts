/** What comes with the registration of a name of a TLD that is being launched. */
import { type AcceptedNotice, isAcceptanceLive } from '../claims-notices.ts';
import type { CreateCommand, LaunchDemand, MutationOutcome } from '../registry.ts';
import { isSuccess } from '../result-codes.ts';
import { zoneOf } from '../routing-registry.ts';
import { findClaims } from './commands/launch.ts';
import { LAUNCH } from './namespaces.ts';
import { refusalOf, rejected } from './outcomes.ts';
import type { LaunchPhase, RegistryLink } from './registry-link.ts';

const NO_DEMAND: LaunchDemand = { kind: 'none' };

/** Of each name, in their order: one question where trademarks may claim some of them. Throws what asking throws. */
export async function readLaunchDemands(
  link: RegistryLink,
  names: readonly string[],
  timeoutMs?: number,
): Promise<LaunchDemand[]> {
  const phases = names.map((name) => phaseNow(link, zoneOf(name))?.phase);
  const asked = names.filter((_, index) => phases[index] === 'claims');
  const answers = asked.length === 0 ? new Map<string, LaunchDemand>() : await askClaims(link, asked, timeoutMs);
  return names.map((name, index) => {
    const zone = zoneOf(name);
    if (phases[index] === 'sunrise') {
      return refused(`names of ${zone} are only for holders of trademarks now, and cannot be bought here yet`);
    }
    if (phases[index] === undefined) return NO_DEMAND;
    const unsaid = `${name} cannot be bought here while ${zone} is being launched: the registry does not say whether a trademark claims it`;
    return answers.get(name) ?? refused(unsaid);
  });
}

/** Whoever buys waits for it, before anything is charged. Throws what asking throws. */
export async function readLaunchDemand(link: RegistryLink, name: string): Promise<LaunchDemand> {
  const [demand = NO_DEMAND] = await readLaunchDemands(link, [name], TIMEOUT_MS);
  return demand;
}

const TIMEOUT_MS = 2_000;

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

/** The notice that the create has to come with, or why it is not sent. Throws what asking throws. */
export async function launchDataOf(
  link: RegistryLink,
  { claimsNotice, name }: Pick<CreateCommand, 'claimsNotice' | 'name'>,
): Promise<{ readonly notice?: AcceptedNotice } | { readonly outcome: MutationOutcome }> {
  const [demand = NO_DEMAND] = await readLaunchDemands(link, [name]);
  switch (demand.kind) {
    case 'none':
      return {};
    case 'refused':
      return { outcome: rejected('policy', demand.reason) };
    case 'claims_notice':
      if (claimsNotice === undefined) {
        return { outcome: rejected('policy', `a trademark claims ${name}, and its notice was not accepted`) };
      }
      if (!isAcceptanceLive(claimsNotice, link.rules.clock.now())) {
        const ended = `the acceptance of the claims notice of ${name} ended before the registry took the name`;
        return { outcome: rejected('policy', ended) };
      }
      return { notice: claimsNotice };
    default:
      return demand satisfies never;
  }
}
