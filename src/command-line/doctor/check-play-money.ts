/** Whether a time with the simulated registry has left something that a real registry ends. */
import type { Play } from '../../domains/play-money/index.ts';
import { formatEuros } from '../../domains/prices/money.ts';
import type { Config } from '../../kernel/config/config.ts';
import type { Database } from '../../kernel/db/database.ts';
import { isRegistryReal } from './check-registries.ts';
import { type Finding, failed, warning } from './finding.ts';

export async function checkPlayMoney(config: Pick<Config, 'domains'>, db: Database): Promise<Finding[]> {
  if (!(await isRegistryReal(config))) return [];
  // Loaded where there is something to check.
  const { explainHolding, findPlay } = await import('../../domains/play-money/index.ts');
  return judgePlay(await findPlay(db), explainHolding);
}

export function judgePlay({ credits, names, orderIds }: Play, explain: (orderId: string) => string): Finding[] {
  const [first] = orderIds;
  if (first !== undefined) {
    const detail = `${orderIds.length === 1 ? 'an order holds' : `${orderIds.length} orders hold`} play money, and the domain service does not start`;
    return [failed('play money', detail, explain(first))];
  }
  const leftCents = credits.reduce((sum, credit) => sum + credit.leftCents, 0);
  if (leftCents === 0 && names === 0) return [];
  return [
    warning(
      'play money',
      `${formatEuros(leftCents)} of play credit and ${names} names of the simulated registry are left; the next start ends them`,
      'If they are to stay, give this server another data folder or database (IRONCRAFT_DATA_DIR, IRONCRAFT_DATABASE_URL).',
    ),
  ];
}
