/** Several registries as one: each name is asked about, and changed, at the registry that its suffix leads to. */
import {
  type Availability,
  type MutationOutcome,
  type ReadOptions,
  type Registry,
  type RegistryHabits,
  type RegistryMember,
  RegistryUnavailable,
  type SingleRegistry,
} from './registry.ts';

const NO_HABITS: RegistryHabits = { autoRenewGraceDays: undefined, requiredContact: [] };

/** The members' zones must not overlap. A member that takes every name is the only one. */
export function createRoutingRegistry(members: readonly [SingleRegistry, ...SingleRegistry[]]): Registry {
  const byZone = new Map(members.flatMap((member) => (member.zones ?? []).map((zone) => [zone, member] as const)));
  const findMember = (name: string) => byZone.get(zoneOf(name));

  function read<Answer>(name: string, ask: (member: SingleRegistry) => Promise<Answer>): Promise<Answer> {
    const member = findMember(name);
    return member === undefined ? Promise.reject(new RegistryUnavailable(notRouted(name))) : ask(member);
  }

  /** Nothing was sent, so it is no refusal of a registry's: `unknown` keeps the order until the configuration is right again. */
  async function change<Command extends { readonly name: string }>(
    command: Command,
    send: (member: SingleRegistry, command: Command) => Promise<MutationOutcome>,
  ): Promise<MutationOutcome> {
    const member = findMember(command.name);
    return member === undefined ? { kind: 'unknown', reason: notRouted(command.name) } : send(member, command);
  }

  return {
    kind: members[0].kind,
    members,
    habitsOf: (name) => findMember(name)?.habits ?? NO_HABITS,
    check: (names, options) => checkEverywhere(names, findMember, options),
    feeOf: (question) => read(question.name, (member) => member.feeOf(question)),
    launchDemandOf: (name, held) => read(name, (member) => member.launchDemandOf(name, held)),
    applicationOf: (application) => read(application.name, (member) => member.applicationOf(application)),
    info: (name, options) => read(name, (member) => member.info(name, options)),
    transferOf: (name) => read(name, (member) => member.transferOf(name)),
    create: (command) => change(command, (member, sent) => member.create(sent)),
    renew: (command) => change(command, (member, sent) => member.renew(sent)),
    decideTransfer: (command) => change(command, (member, sent) => member.decideTransfer(sent)),
    trade: (command) => change(command, (member, sent) => member.trade(sent)),
    tradeOf: (name) => read(name, (member) => member.tradeOf(name)),
    transfer: (command) => change(command, (member, sent) => member.transfer(sent)),
    update: (command) => change(command, (member, sent) => member.update(sent)),
    delete: (command) => change(command, (member, sent) => member.delete(sent)),
    restore: (command) => change(command, (member, sent) => member.restore(sent)),
    async start() {
      await Promise.all(members.map((member) => member.start()));
    },
    async stop() {
      await Promise.all(members.map((member) => member.stop()));
    },
  };
}

/** Where a name is, or would be; undefined: nowhere. */
export function memberOf({ members }: Pick<Registry, 'members'>, name: string): RegistryMember | undefined {
  return members.find(({ zones }) => zones === undefined || zones.includes(zoneOf(name)));
}

/** What names lie under: one of these, none of these, or anything. */
export type Zones = { readonly only: readonly string[] } | { readonly not: readonly string[] } | undefined;

/**
 * For work at each registry by itself, so that one that is away keeps no other's names waiting. `none`: names that lead to no registry, where
 * a line is missing in the file.
 */
export function zonesByRegistry({ members }: Pick<Registry, 'members'>): readonly {
  readonly id: string;
  readonly zones: Zones;
}[] {
  const each = members.map(({ id, zones }) => ({ id, zones: zones && { only: zones } }));
  const known = members.flatMap(({ zones }) => zones ?? []);
  return members.some(({ zones }) => zones === undefined) ? each : [...each, { id: 'none', zones: { not: known } }];
}

/** What a name lies under. Names of registries are one label below it. */
export function zoneOf(name: string): string {
  return name.slice(name.indexOf('.') + 1);
}

function notRouted(name: string): string {
  return `no registry is configured for names under .${zoneOf(name)}`;
}

/** One question to each registry, all at a time. */
async function checkEverywhere(
  names: readonly string[],
  findMember: (name: string) => SingleRegistry | undefined,
  options: ReadOptions | undefined,
): Promise<Availability[]> {
  const groups = Map.groupBy(names, findMember);
  const answers = await Promise.all(
    [...groups].map(([member, group]) =>
      member === undefined
        ? group.map((name): Availability => ({ name, availability: 'unknown', reason: notRouted(name) }))
        : member.check(group, options),
    ),
  );
  const byName = new Map(answers.flat().map((answer) => [answer.name, answer]));
  return names.map((name) => byName.get(name) ?? { name, availability: 'unknown' });
}
