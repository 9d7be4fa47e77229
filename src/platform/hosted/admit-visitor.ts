/** The smith that a visitor speaks to: the page's own, or one of their own on the page's agent, made when they come first. */
import { systemClock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { provisionForDeployment } from '../smiths/index.ts';
import { TenantDatabase, type TenantTransaction } from '../store/tenant-db.ts';
import type { HostedPage } from './find-page.ts';
import { countNewVisitor, findVisitor, holdPage, isDayFull, saveVisitor } from './visitor-store.ts';

/**
 * Throws `not_found` for a thread that is not the visitor's, whoever's it is, `rate_limit_exceeded` once the page has had its
 * new visitors of the day, and what provisioning throws.
 */
export async function admitVisitor(
  store: Database,
  page: HostedPage,
  { visitorId, threadId }: { readonly visitorId: string; readonly threadId: string | undefined },
): Promise<string> {
  const db = new TenantDatabase(store, page.projectId);
  const known = await findVisitor(db, page.id, visitorId, threadId ?? null);
  if (threadId !== undefined && known?.owns_thread !== true) {
    const message = 'There is no such conversation of this visitor. Leave `thread_id` out to begin one.';
    throw new ApiError('not_found', { param: 'thread_id', message });
  }
  if (known !== undefined) return known.smith_id;
  // Nothing is made for those who are refused anyway; what decides is the count below.
  if (await isDayFull(db, page.id, page.settings.new_visitors_per_day)) throw dayIsFull();
  return db.transaction((tx) => admitNew(tx, page, visitorId));
}

async function admitNew(tx: TenantTransaction, page: HostedPage, visitorId: string): Promise<string> {
  if (!(await holdPage(tx, page.id))) throw new ApiError('not_found', { message: 'There is no such page any more.' });
  const smithId = await chooseSmith(tx, page, visitorId);
  const isNew = await saveVisitor(tx, page.id, visitorId, smithId);
  if (isNew && !(await countNewVisitor(tx, page.id, page.settings.new_visitors_per_day))) throw dayIsFull();
  return smithId;
}

async function chooseSmith(tx: TenantTransaction, { id, target }: HostedPage, visitorId: string): Promise<string> {
  if ('smithId' in target) return target.smithId;
  const { agentId: agent_id } = target;
  return (await provisionForDeployment(tx, { external_id: `web:${id}:${visitorId}`, agent_id })).id;
}

function dayIsFull(): ApiError {
  const now = systemClock.now();
  const midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1);
  return new ApiError('rate_limit_exceeded', {
    retryAfterSeconds: Math.ceil((midnight - now.getTime()) / 1_000),
    message: 'This page takes no more new visitors today. Come back tomorrow.',
  });
}
