/** Host objects (RFC 5732), where the registry names nameservers by them. */
import { explainMissingHost, type HostCommands } from '../host-steps.ts';
import type { MutationOutcome } from '../registry.ts';
import { isSuccess, OBJECT_EXISTS } from '../result-codes.ts';
import { readCheckResults } from './commands/domain-results.ts';
import { requireData } from './commands/response.ts';
import { canonicalName } from './commands/same-object.ts';
import { HOST } from './namespaces.ts';
import { type RegistryLink, transactionIdOf } from './registry-link.ts';

/**
 * Makes the host objects that the registry does not have, where it names nameservers by objects. What keeps one from being
 * made, or undefined.
 */
export async function ensureHosts(
  link: RegistryLink,
  names: readonly string[],
  transactionId: string,
): Promise<MutationOutcome | undefined> {
  if (names.length === 0 || link.rules.nameserverModel === 'hostAttr') return undefined;
  const clTRID = transactionIdOf(transactionId, 'host');
  const unknown = names.filter((name) => link.objects.get(`host ${name}`) !== true);
  if (unknown.length === 0) return undefined;
  const check = await link.askRepeatable({ kind: 'host:check', names: unknown }, clTRID);
  if (!isSuccess(check.code)) return link.outcomeOf(check);
  const results = readCheckResults(requireData(check, HOST, 'chkData'), 'name');
  const present = new Set(results.filter(({ available }) => !available).map(({ value }) => canonicalName(value)));
  for (const name of unknown.filter((name) => !present.has(canonicalName(name)))) {
    const created = await link.askRepeatable({ kind: 'host:create', name, addresses: [] }, clTRID);
    if (isSuccess(created.code) || created.code === OBJECT_EXISTS) continue;
    const outcome = link.outcomeOf(created);
    return WITHOUT_ADDRESSES.includes(created.code) && outcome.kind === 'rejected'
      ? { ...outcome, explanation: explainMissingHost(name) }
      : outcome;
  }
  for (const name of unknown) link.objects.set(`host ${name}`, true);
  return undefined;
}

/** How registries refuse a host that lies below one of their names, and has no address or is another registrar's to make. */
const WITHOUT_ADDRESSES: readonly number[] = [2003, 2004, 2005, 2201, 2303, 2306, 2308];

/** Those below a name of ours. Repeating them is safe: each says what is to be there afterwards. */
export function hostCommands(link: RegistryLink, transactionId: string): HostCommands {
  const clTRID = transactionIdOf(transactionId, 'host');
  return {
    async create({ addresses, name }) {
      const created = await link.askRepeatable({ kind: 'host:create', name, addresses }, clTRID);
      return link.outcomeOf(created);
    },
    async change(name, { add, remove }) {
      const items = (addresses: readonly string[]) =>
        addresses.length === 0 ? undefined : { addresses, statuses: [] };
      return link.outcomeOf(
        await link.askOnce({ kind: 'host:update', name, add: items(add), remove: items(remove) }, clTRID),
      );
    },
    async remove(name) {
      return link.outcomeOf(await link.askOnce({ kind: 'host:delete', name }, clTRID));
    },
  };
}
