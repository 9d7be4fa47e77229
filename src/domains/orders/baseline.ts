/**
 * What the registry has of a name before the first command of its order. After an answer was lost, only this tells what the order did
 * from what was there before: a name that our registrar account had already is nobody's who happens to order it.
 */
import { json } from '../../kernel/db/values.ts';
import { READ_MS } from '../deadline.ts';
import type { Registrant, Registry, RegistryDomain } from '../registry/registry.ts';
import { RegistryUnavailable } from '../registry/registry.ts';
import { isHolder } from '../registry/same-holder.ts';
import type { Baseline } from '../tables.ts';
import { type WorkspaceDb, workspaceDb } from '../workspace-scope.ts';
import type { OrderDependencies } from './dependencies.ts';
import type { OrderRow } from './order.ts';

/** `holder`: of a trade. */
type Subject = Pick<OrderRow, 'holder' | 'name'>;

/** Of a name that is to be acquired. Undefined where the registry does not answer soon: then it is asked before the first command. */
export async function readBaseline(
  { registry, clock }: Pick<OrderDependencies, 'registry' | 'clock'>,
  name: string,
): Promise<Baseline | undefined> {
  try {
    return await askBaseline({ registry, clock }, { name, holder: null }, READ_MS);
  } catch (error) {
    if (error instanceof RegistryUnavailable) return undefined;
    throw error;
  }
}

async function askBaseline(
  {
    registry,
    clock,
  }: { readonly registry: Pick<Registry, 'info' | 'tradeOf'>; readonly clock: OrderDependencies['clock'] },
  { holder, name }: Subject,
  timeoutMs?: number,
): Promise<Baseline> {
  const at = clock.now().toISOString();
  const info = await registry.info(name, { timeoutMs });
  if (holder !== null) return tradeBaseline(registry, { at, holder, info, name });
  if (info === undefined) return { kind: 'absent', at };
  const { registryId, expiresAt, isOurs } = info;
  return { kind: isOurs ? 'ours' : 'foreign', at, registryId, ...(expiresAt === undefined ? {} : { expiresAt }) };
}

async function tradeBaseline(
  registry: Pick<Registry, 'tradeOf'>,
  { at, holder, info, name }: TradeSubject,
): Promise<Baseline> {
  // One that has left is refused as a command.
  if (info?.holder !== undefined && isHolder(info.holder, holder)) return { kind: 'held', at };
  const last = await registry.tradeOf(name);
  const before = last === undefined ? {} : { tradeRequestedAt: last.requestedAt };
  return { kind: last?.state === 'pending' ? 'trading' : 'not_held', at, ...before };
}

interface TradeSubject {
  readonly at: string;
  readonly holder: Registrant;
  readonly info: RegistryDomain | undefined;
  readonly name: string;
}

/** A renewal needs none, as it names the expiry that it moves, nor does a restoration, which ends a state of the name. */
export function lacksBaseline({ baseline, kind }: OrderRow): boolean {
  return (kind === 'registration' || kind === 'transfer' || kind === 'trade') && baseline === null;
}

/**
 * Asks the registry and writes the answer down. Undefined when another worker has done so meanwhile: that one sends the command. Throws
 * `RegistryUnavailable`.
 */
export async function takeBaseline(deps: OrderDependencies, order: OrderRow): Promise<OrderRow | undefined> {
  const baseline = await askBaseline(deps, order);
  return saveBaseline(workspaceDb(deps.db, order.workspace_id), order.id, baseline);
}

function saveBaseline(db: WorkspaceDb, orderId: string, baseline: Baseline): Promise<OrderRow | undefined> {
  return db
    .updateTable('orders')
    .set({ baseline: json(baseline) })
    .where('id', '=', orderId)
    .where('baseline', 'is', null)
    .where('state', 'in', ['held', 'submitted'])
    .returningAll()
    .executeTakeFirst();
}
