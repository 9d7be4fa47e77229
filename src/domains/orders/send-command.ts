/** What an order tells its registry. */
import { EXPIRY_TOLERANCE_MS } from '../portfolio/index.ts';
import { getRegistrantOfName, registrantAtRegistry } from '../registrant.ts';
import type { MutationOutcome, Registrant, Registry, RenewCommand } from '../registry/registry.ts';
import { expiryNotShown, RegistryUnavailable } from '../registry/registry.ts';
import { addYears } from '../registry/term.ts';
import { workspaceDb } from '../workspace-scope.ts';
import type { OrderDependencies } from './dependencies.ts';
import type { OrderRow } from './order.ts';
import { authCodeContext } from './place-order.ts';
import { heldMarkOf } from './store.ts';

/** The order's command to its registry. Repeating it is for whoever knows what became of the one before. */
export async function sendCommand(deps: OrderDependencies, order: OrderRow): Promise<MutationOutcome> {
  const { registry, vault } = deps;
  // The id distinguishes the attempts of one order, in our log and in the registry's.
  const command = {
    name: order.name,
    transactionId: `${order.id}.${order.submissions}`,
    ...(order.registry_fee === null ? {} : { fee: order.registry_fee }),
  };
  switch (order.kind) {
    case 'registration': {
      const { registrant, isPrivate } = await findRegistrant(deps, order);
      return registry.create({
        ...command,
        years: order.years,
        registrant,
        nameservers: deps.nameservers,
        isPrivate,
        claimsNotice: order.claims_acceptance ?? undefined,
        ...heldMarkOf(order),
        application: order.launch_phase ?? undefined,
      });
    }
    case 'renewal':
      return renew(registry, order, { ...command, from: order.from_expires_at ?? deps.clock.now() });
    case 'transfer':
      return registry.transfer({
        ...command,
        years: order.years,
        authCode: vault.open(order.sealed_auth_code ?? '', authCodeContext(order.workspace_id, order.id)),
      });
    case 'restoration':
      return registry.restore(command);
    case 'trade': {
      const { registrant, isPrivate } = await findRegistrant(deps, order);
      return registry.trade({ ...command, registrant: order.holder ?? registrant, isPrivate });
    }
    default:
      return order.kind satisfies never;
  }
}

/** Only the years that the registry has not added by itself. */
async function renew(
  registry: Registry,
  { years }: OrderRow,
  { from, fee, ...command }: Omit<RenewCommand, 'currentExpiresAt' | 'years'> & { readonly from: Date },
): Promise<MutationOutcome> {
  let current = from;
  if (registry.habitsOf(command.name).autoRenewGraceDays !== undefined) {
    try {
      const info = await registry.info(command.name);
      if (info?.isOurs === true) {
        if (info.expiresAt === undefined) throw expiryNotShown(command.name);
        current = new Date(info.expiresAt);
      }
    } catch (error) {
      if (error instanceof RegistryUnavailable) return { kind: 'unknown', reason: error.message };
      throw error;
    }
  }
  const target = addYears(from, years).getTime() - EXPIRY_TOLERANCE_MS;
  let missing = 0;
  while (addYears(current, missing).getTime() < target) missing += 1;
  if (missing === 0) return { kind: 'completed' };
  // Of what was asked for all the years, the part of those that are bought there.
  const agreed = fee === undefined ? {} : { fee: { ...fee, cents: Math.round((fee.cents * missing) / years) } };
  return registry.renew({ ...command, ...agreed, years: missing, currentExpiresAt: current.toISOString() });
}

async function findRegistrant(
  { db }: OrderDependencies,
  order: OrderRow,
): Promise<{ registrant: Registrant; isPrivate: boolean }> {
  const found = await getRegistrantOfName(workspaceDb(db, order.workspace_id), order.domain_id);
  return { registrant: registrantAtRegistry(found), isPrivate: found.whois_privacy ?? true };
}
