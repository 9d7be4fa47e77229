import type { MutationOutcome } from '../registry.ts';
import { isSuccess, OBJECT_EXISTS } from '../result-codes.ts';
import { readCheckResults } from './commands/domain-results.ts';
import { requireData } from './commands/response.ts';
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
  const missing = readCheckResults(requireData(check, HOST, 'chkData'), 'name').filter(({ available }) => available);
  for (const { value: name } of missing) {
    const created = await link.askRepeatable({ kind: 'host:create', name, addresses: [] }, clTRID);
    if (!isSuccess(created.code) && created.code !== OBJECT_EXISTS) return link.outcomeOf(created);
  }
  for (const name of unknown) link.objects.set(`host ${name}`, true);
  return undefined;
}
