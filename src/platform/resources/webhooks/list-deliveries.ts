import { ApiError } from '../../../kernel/http/errors.ts';
import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { renderDelivery } from './render-webhook.ts';
import type { DeliveryQuery, WebhookPath } from './schema.ts';
import { findWebhook, listAttempts, listDeliveries as listRows } from './store.ts';

export async function listDeliveries({
  db,
  caller,
  params,
  query,
}: ProjectRead<{ params: WebhookPath; query: DeliveryQuery }>) {
  if ((await findWebhook(db, params.wid)) === undefined) throw new ApiError('not_found');
  const page = readPage(query, [viewOf(caller), 'webhooks', params.wid, 'deliveries']);
  const rows = await listRows(db, params.wid, query.status, page);
  const attempts = Map.groupBy(
    await listAttempts(
      db,
      rows.slice(0, page.limit).map(({ id }) => id),
    ),
    ({ delivery_id }) => delivery_id,
  );
  return pageReply(
    rows,
    page,
    (row) => row.id,
    (row) => renderDelivery(row, attempts.get(row.id) ?? []),
  );
}
