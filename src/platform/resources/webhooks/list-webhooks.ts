import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { renderWebhook } from './render-webhook.ts';
import { listWebhooks as listRows } from './store.ts';

export async function listWebhooks({ db, caller, query }: ProjectRead<{ query: { limit?: number; cursor?: string } }>) {
  const page = readPage(query, [viewOf(caller), 'webhooks']);
  return pageReply(await listRows(db, page), page, (row) => row.id, renderWebhook);
}
