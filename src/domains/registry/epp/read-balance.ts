/** What our account at the registry may still spend: as it tells when it is asked, or with the answers to paid commands (RFC 8748). */
import type { RegistryBalance } from '../registry.ts';
import { isSuccess } from '../result-codes.ts';
import { readBalance as balanceOf } from './commands/balance.ts';
import { requireData } from './commands/response.ts';
import { BALANCE } from './namespaces.ts';
import { refusalOf } from './outcomes.ts';
import type { RegistryLink } from './registry-link.ts';

export async function readBalance(link: RegistryLink): Promise<RegistryBalance | undefined> {
  if (!(await link.serves(BALANCE))) return link.lastBalance;
  const response = await link.askRepeatable({ kind: 'balance:info' });
  if (!isSuccess(response.code)) throw refusalOf(response);
  return balanceOf(requireData(response, BALANCE, 'infData'));
}
