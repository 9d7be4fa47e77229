/** What keeps a name of a TLD from being registered while that is being launched. Notices of claims cannot be shown and accepted here. */
import type { MutationOutcome } from '../registry.ts';
import { isSuccess } from '../result-codes.ts';
import { zoneOf } from '../routing-registry.ts';
import { findClaims } from './commands/launch.ts';
import { LAUNCH } from './namespaces.ts';
import { refusalOf, rejected } from './outcomes.ts';
import type { RegistryLink } from './registry-link.ts';

/** Throws what asking throws. Undefined: nothing does. */
export async function findLaunchObstacle(link: RegistryLink, name: string): Promise<MutationOutcome | undefined> {
  const { clock, launchPhaseOf } = link.rules;
  const zone = zoneOf(name);
  const launch = launchPhaseOf?.(zone);
  if (launch === undefined || (launch.until !== undefined && launch.until <= clock.now())) return undefined;
  if (launch.phase === 'sunrise') {
    return rejected('policy', `names of ${zone} are only for holders of trademarks now, and cannot be bought here yet`);
  }
  if (!(await link.supports(LAUNCH)))
    return rejected('policy', `the registry of ${zone} does not say which names are claimed`);
  const response = await link.askRepeatable({ kind: 'domain:check', names: [name], asksClaims: true });
  if (!isSuccess(response.code)) throw refusalOf(response);
  const claim = findClaims(response.extensions)?.find((claim) => claim.name === name);
  if (claim?.exists === false) return undefined;
  const why =
    claim === undefined
      ? 'the registry does not say whether a trademark claims it'
      : 'the holder of a trademark claims it';
  return rejected('policy', `${name} cannot be bought here while ${zone} is being launched: ${why}`);
}
