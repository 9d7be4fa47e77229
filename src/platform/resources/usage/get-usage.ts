import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import { requireSmith } from '../../access/gate.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { smithOf } from '../../access/references.ts';
import { readDays, readGroups } from './read-usage-query.ts';
import { renderAmounts, renderGroup } from './render-usage.ts';
import { GROUPS, type UsageQuery, type UsageReport } from './schema.ts';
import { listUsageGroups, sumUsage, type UsageGroupRow } from './store.ts';

/** A smith token sees its own smith's usage. */
export async function getUsage({ db, caller, query }: ProjectRead<{ query: UsageQuery }>): Promise<UsageReport> {
  if (query.smith_id !== undefined) requireSmith(caller, query.smith_id);
  const days = readDays(query);
  const groups = readGroups(query.group_by);
  const columns = groups.map((name) => GROUPS[name]);
  const smithId = smithOf(caller) ?? query.smith_id;
  const { agent_id, customer_id, app_id, model, meter, source } = query;
  const wanted = { smith_id: smithId, agent_id, customer_id, app_id, model, meter, source };
  const where = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined));
  const filter = { ...days, where };
  const page = readPage(query, [viewOf(caller), 'usage']);
  const after = page.after === undefined ? undefined : readKey(page.after);
  const [rows, totals] = await Promise.all([
    listUsageGroups(db, filter, columns, { limit: page.limit, after }),
    sumUsage(db, filter),
  ]);
  const keyOf = (row: UsageGroupRow) => writeKey(columns.map((column) => row[column] ?? ''));
  const shown = pageReply(rows, page, keyOf, (row) => renderGroup(row, columns));
  return { ...days, currency: 'usd', group_by: groups, ...shown, totals: renderAmounts(totals) };
}

function writeKey(values: readonly string[]): string {
  return Buffer.from(JSON.stringify(values)).toString('base64url');
}

function readKey(key: string): string[] {
  return JSON.parse(Buffer.from(key, 'base64url').toString('utf8'));
}
