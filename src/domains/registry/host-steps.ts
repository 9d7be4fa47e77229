/** How the hosts below a name become those that are wanted: some steps before the name's own change, and those that take hosts away after it. */
import type { MutationOutcome, RegistryHost } from './registry.ts';
import type { Step } from './take-steps.ts';

/** As a registry has them (RFC 5732). */
export interface HostCommands {
  create(host: RegistryHost): Promise<MutationOutcome>;
  change(name: string, addresses: AddressChange): Promise<MutationOutcome>;
  remove(name: string): Promise<MutationOutcome>;
}

export interface AddressChange {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

export interface HostSteps {
  /** New hosts and new addresses: the name may be delegated to them afterwards. */
  readonly before: readonly Step[];
  /** A host goes once no name is delegated to it. */
  readonly after: readonly Step[];
}

export function hostSteps(
  commands: HostCommands,
  present: readonly RegistryHost[],
  wanted: readonly RegistryHost[],
): HostSteps {
  const [had, wants] = [present, wanted].map((hosts) => new Map(hosts.map((host) => [host.name, host])));
  const before = wanted.flatMap((host): Step[] => {
    const old = had?.get(host.name);
    if (old === undefined) return [{ send: () => commands.create(host), takeBack: () => commands.remove(host.name) }];
    const { add, remove } = addressChange(old.addresses, host.addresses);
    if (add.length === 0 && remove.length === 0) return [];
    return [
      {
        send: () => commands.change(host.name, { add, remove }),
        takeBack: () => commands.change(host.name, { add: remove, remove: add }),
      },
    ];
  });
  const after = present.flatMap((host): Step[] =>
    wants?.has(host.name) === true
      ? []
      : [{ send: () => removeUnused(commands, host.name), takeBack: () => commands.create(host) }],
  );
  return { before, after };
}

function addressChange(before: readonly string[], after: readonly string[]): AddressChange {
  return {
    add: after.filter((address) => !before.includes(address)),
    remove: before.filter((address) => !after.includes(address)),
  };
}

async function removeUnused(commands: HostCommands, name: string): Promise<MutationOutcome> {
  const outcome = await commands.remove(name);
  if (outcome.kind !== 'rejected') return outcome;
  // One that is gone was removed by an earlier attempt, whose answer was lost.
  if (outcome.code === 'object_does_not_exist') return { kind: 'completed' };
  if (outcome.code !== 'in_use') return outcome;
  const explanation = `Other names have ${name} as their nameserver. Give them others first, and repeat the call.`;
  return { ...outcome, explanation };
}

/** Whether a host is the name or lies below it: its zone above then needs its addresses. */
export function isBelow(host: string, name: string): boolean {
  return host === name || host.endsWith(`.${name}`);
}

/** For customers: the registry refuses a host that nobody has given addresses. */
export function explainMissingHost(name: string): string {
  return `The registry does not have the nameserver ${name}. Whoever has the name above it has to give it addresses first, with \`glue\` of that name’s settings.`;
}
