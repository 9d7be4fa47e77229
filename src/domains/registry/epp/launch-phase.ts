/** What comes with the registration of a name of a TLD that is being launched (RFC 8334), and what becomes of applications. */
import { isAcceptanceLive } from '../claims-notices.ts';
import type {
  ApplicationState,
  AskedApplication,
  CreateCommand,
  HeldMark,
  LaunchDemand,
  LaunchPhaseName,
  MutationOutcome,
} from '../registry.ts';
import { isSuccess, OBJECT_DOES_NOT_EXIST } from '../result-codes.ts';
import { zoneOf } from '../routing-registry.ts';
import { findApplication, findClaims, type LaunchCreate } from './commands/launch.ts';
import { canonicalName } from './commands/same-object.ts';
import { LAUNCH } from './namespaces.ts';
import { refusalOf, rejected } from './outcomes.ts';
import type { LaunchPhase, RegistryLink } from './registry-link.ts';
import { findHeldProblem, hasMark, partsFor } from './signed-mark.ts';

const NO_DEMAND: LaunchDemand = { kind: 'none' };

/** Of each name, in their order: one question a phase where trademarks may claim some of them. Throws what asking throws. */
export async function readLaunchDemands(
  link: RegistryLink,
  names: readonly string[],
  timeoutMs?: number,
): Promise<LaunchDemand[]> {
  const phases = names.map((name) => phaseNow(link, name));
  const isSpoken = phases.some((phase) => phase !== undefined) && (await link.supports(LAUNCH, timeoutMs));
  const answers = isSpoken ? await askAllClaims(link, names, timeoutMs) : new Map<string, LaunchDemand>();
  return names.map((name, index) => {
    const phase = phases[index];
    if (phase === undefined) return NO_DEMAND;
    const demand = answers.get(name) ?? demandOf(name, phase, isSpoken);
    return phase.applications === true && demand.kind !== 'refused'
      ? { ...demand, application: phaseNameOf(phase) }
      : demand;
  });
}

/** Of a name that it was not asked about. */
function demandOf(name: string, phase: LaunchPhase, isSpoken: boolean): LaunchDemand {
  const zone = zoneOf(name);
  const requires = requiredIn(phase);
  switch (requires) {
    case 'signed_mark':
    case 'mark_code':
    case 'mark':
    case 'mark_code_and_mark':
      return isSpoken
        ? { kind: 'mark', requires }
        : refused(`names of ${zone} are only for holders of trademarks now, and the registry takes no signed marks`);
    case 'claims_notice':
      return refused(
        `${name} cannot be bought here while ${zone} is being launched: the registry does not say whether a trademark claims it`,
      );
    case 'nothing':
      return isSpoken
        ? NO_DEMAND
        : refused(`${name} cannot be bought here while ${zone} is being launched: the registry is told of no phases`);
  }
}

/** Whoever buys waits for it, before anything is charged. Throws what asking throws. */
export async function readLaunchDemand(link: RegistryLink, name: string, held: HeldMark = {}): Promise<LaunchDemand> {
  const [demand = NO_DEMAND] = await readLaunchDemands(link, [name], link.rules.termsTimeoutMs);
  if (demand.kind !== 'mark' || !hasMark(demand.requires, held)) return demand;
  const problem = findHeldProblem(demand.requires, held, { label: labelOf(name), now: link.rules.clock.now() });
  return problem === undefined ? demand : refused(problem);
}

function labelOf(name: string): string {
  return name.slice(0, name.indexOf('.'));
}

/** Undefined: its TLD is not being launched. */
function phaseNow({ rules: { clock, launchPhaseOf } }: RegistryLink, name: string): LaunchPhase | undefined {
  const launch = launchPhaseOf?.(zoneOf(name));
  return launch?.until !== undefined && launch.until <= clock.now() ? undefined : launch;
}

function phaseNameOf({ name, phase }: LaunchPhase): LaunchPhaseName {
  return name === undefined ? { phase } : { phase, name };
}

function requiredIn({ phase, requires }: LaunchPhase): NonNullable<LaunchPhase['requires']> {
  if (requires !== undefined) return requires;
  if (phase === 'sunrise') return 'signed_mark';
  return phase === 'claims' ? 'claims_notice' : 'nothing';
}

/** In which registrations have another price, or may have; undefined: in none. */
export function pricedPhaseOf(link: RegistryLink, name: string): LaunchPhaseName | undefined {
  const phase = phaseNow(link, name);
  return phase === undefined || phase.phase === 'sunrise' || phase.phase === 'claims' ? undefined : phaseNameOf(phase);
}

async function askAllClaims(
  link: RegistryLink,
  names: readonly string[],
  timeoutMs: number | undefined,
): Promise<Map<string, LaunchDemand>> {
  const answers = new Map<string, LaunchDemand>();
  const asked = names.flatMap((name) => {
    const phase = phaseNow(link, name);
    return phase !== undefined && requiredIn(phase) === 'claims_notice'
      ? [{ name, phase: phaseNameOf(phase), validator: phase.validator }]
      : [];
  });
  for (const group of Map.groupBy(asked, ({ phase, validator }) => JSON.stringify([phase, validator])).values()) {
    const [{ phase, validator }] = group as [(typeof asked)[number]];
    const found = await askClaims(
      link,
      { phase, validator },
      group.map(({ name }) => name),
      timeoutMs,
    );
    for (const [name, demand] of found) answers.set(name, demand);
  }
  return answers;
}

async function askClaims(
  link: RegistryLink,
  { phase: claimsIn, validator }: { readonly phase: LaunchPhaseName; readonly validator: string | undefined },
  names: readonly string[],
  timeoutMs: number | undefined,
): Promise<(readonly [name: string, demand: LaunchDemand])[]> {
  const response = await link.askRepeatable({ kind: 'domain:check', names, claimsIn }, undefined, timeoutMs);
  if (!isSuccess(response.code)) throw refusalOf(response);
  const claims = findClaims(response.extensions, validator) ?? [];
  return claims.map(({ exists, key, name: answered }) => {
    const name = canonicalName(answered);
    if (!exists) return [name, NO_DEMAND];
    if (key !== undefined && key !== '') return [name, { kind: 'claims_notice', lookupKey: key }];
    return [name, refused(`a trademark claims ${name}, and the registry does not say where its notice is`)];
  });
}

function refused(reason: string): LaunchDemand {
  return { kind: 'refused', reason };
}

/** What the create has to come with, or why it is not sent. Throws what asking throws. */
export async function launchDataOf(
  link: RegistryLink,
  { application, claimsNotice, name, ...held }: Pick<CreateCommand, 'application' | 'claimsNotice' | 'name'> & HeldMark,
): Promise<{ readonly launch?: LaunchCreate } | { readonly outcome: MutationOutcome }> {
  const demand = await readLaunchDemand(link, name, held);
  const phase = phaseNow(link, name);
  const refuse = (reason: string) => ({ outcome: rejected('policy', reason) });
  if (demand.kind === 'refused') return refuse(demand.reason);
  if (!isSamePhase(application, demand.application)) {
    return refuse(
      `the launch of ${zoneOf(name)} came to another phase before the registry took ${name}: GET /check says how it is sold now`,
    );
  }
  if (phase === undefined) return {};
  const { validator } = phase;
  const create = { phase: phaseNameOf(phase), isApplication: demand.application !== undefined, validator };
  switch (demand.kind) {
    case 'none':
      // While trademarks claim names, those that none claims are registered as any.
      return phase.phase === 'claims' && !create.isApplication ? {} : { launch: create };
    case 'mark': {
      const { requires } = demand;
      if (!hasMark(requires, held)) return refuse(`names of ${zoneOf(name)} are only for holders of trademarks now`);
      return { launch: { ...create, ...partsFor(requires, held) } };
    }
    case 'claims_notice':
      if (claimsNotice === undefined) return refuse(`a trademark claims ${name}, and its notice was not accepted`);
      if (!isAcceptanceLive(claimsNotice, link.rules.clock.now())) {
        return refuse(`the acceptance of the claims notice of ${name} ended before the registry took the name`);
      }
      return { launch: { ...create, notice: claimsNotice } };
    default:
      return demand satisfies never;
  }
}

function isSamePhase(one: LaunchPhaseName | undefined, other: LaunchPhaseName | undefined): boolean {
  return one?.phase === other?.phase && one?.name === other?.name;
}

/** Undefined: the registry does not know it, or does not tell. Throws what asking throws. */
export async function askApplication(
  link: RegistryLink,
  { id, name, phase }: AskedApplication,
): Promise<ApplicationState | undefined> {
  const response = await link.askRepeatable({ kind: 'domain:info', name, application: { id, phase } });
  if (response.code === OBJECT_DOES_NOT_EXIST) return undefined;
  if (!isSuccess(response.code)) throw refusalOf(response);
  const found = findApplication(response.extensions);
  return found?.id === id ? stateOf(found.status) : undefined;
}

/** `invalid` may still be put right (RFC 8334 2.3): only the last word counts. */
function stateOf(status: string | undefined): ApplicationState {
  return status === 'allocated' || status === 'rejected' ? status : 'pending';
}
