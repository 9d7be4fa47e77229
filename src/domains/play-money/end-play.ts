/**
 * From a simulated registry to a real one: play credit that is left is void, and names of the simulated registry leave the portfolios, in
 * one transaction, at the first start with a real registry. What was spent stays as it is booked. While an order holds play credit the
 * service does not start: its end at a real registry would be a real name, or credit that is as good as money.
 */
import type { Clock } from '../../kernel/clock/clock.ts';
import { ConfigError } from '../../kernel/config/config.ts';
import type { Database, Executor } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/log.ts';
import { countPlayNames, retirePlayNames } from '../portfolio/index.ts';
import { listPlayCredit, type PlayCredit, voidPlayCredit } from '../wallet/index.ts';

/** Enough to see what they have in common. */
const NAMES_LOGGED = 20;

export interface Play {
  /** Workspaces whose play credit has not ended, also those that have spent all of it. */
  readonly credits: readonly PlayCredit[];
  /** In portfolios. */
  readonly names: number;
  /** Of orders under way that hold play credit. */
  readonly orderIds: readonly string[];
}

/** What a start with a real registry would end. */
export async function findPlay(executor: Executor): Promise<Play> {
  const credits = await listPlayCredit(executor);
  return { credits, names: await countPlayNames(executor), orderIds: await listHolding(executor, credits) };
}

/** Before the service works with a real registry. Throws `ConfigError` where orders hold play credit; nothing is changed then. */
export async function endPlay({
  clock,
  db,
  logger,
}: {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
}): Promise<void> {
  const { names, voided } = await db.transaction(async (tx) => {
    const credits = await listPlayCredit(tx);
    const orderIds = await listHolding(tx, credits);
    if (orderIds.length > 0) throw new ConfigError(orderIds.map(explainHolding));
    const names = await retirePlayNames(tx, clock.now());
    const voided: { readonly workspaceId: string; readonly cents: number }[] = [];
    for (const { workspaceId } of credits) {
      const cents = await voidPlayCredit(tx, workspaceId);
      if (cents !== undefined) voided.push({ workspaceId, cents });
    }
    return { names, voided };
  });
  for (const fields of voided) logger.warn(fields, 'play credit is void: the registry is a real one');
  if (names.length === 0) return;
  const fields = { count: names.length, names: names.slice(0, NAMES_LOGGED) };
  logger.warn(fields, 'names of the simulated registry are out of the portfolios: the registry is a real one');
}

export function explainHolding(orderId: string): string {
  return (
    `IRONCRAFT_DOMAINS_REGISTRY: the order ${orderId} of the simulated registry is under way and holds play money, which buys no real name. ` +
    `End it with: npm run ironcraft -- domains order cancel ${orderId} --reason "play money"`
  );
}

async function listHolding(executor: Executor, credits: readonly PlayCredit[]): Promise<string[]> {
  const workspaceIds = credits.filter(({ leftCents }) => leftCents > 0).map(({ workspaceId }) => workspaceId);
  if (workspaceIds.length === 0) return [];
  const { rows } = await executor.query<{ id: string }>({
    text: `select id from domains.orders
      where workspace_id = any($1) and state not in ('completed', 'failed') and pays_with = 'wallet' and amount_cents > 0
      order by id limit ${NAMES_LOGGED}`,
    values: [workspaceIds],
  });
  return rows.map(({ id }) => id);
}
