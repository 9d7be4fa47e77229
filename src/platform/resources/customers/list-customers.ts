import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { renderCustomer } from './render-customer.ts';
import { listCustomers as listRows } from './store.ts';

export async function listCustomers({
  db,
  caller,
  query,
}: ProjectRead<{ query: { limit?: number; cursor?: string } }>) {
  const page = readPage(query, [viewOf(caller), 'customers']);
  const rows = await listRows(db, page);
  return pageReply(rows, page, (row) => row.id, renderCustomer);
}
