import { pageReply, readPage } from '../../../kernel/http/paging.ts';
import { viewOf } from '../../access/caller.ts';
import { requireSmith } from '../../access/gate.ts';
import type { ProjectRead } from '../../access/operation.ts';
import { smithOf } from '../../access/references.ts';
import type { MeterEvent, MeterEventQuery } from './schema.ts';
import { listMeterEvents as listRows, type MeterEventRow } from './store.ts';

/** A smith token sees its own smith's events. */
export async function listMeterEvents({ db, caller, query }: ProjectRead<{ query: MeterEventQuery }>) {
  if (query.smith_id !== undefined) requireSmith(caller, query.smith_id);
  const page = readPage(query, [viewOf(caller), 'usage events']);
  const rows = await listRows(db, page, { meter: query.meter, smithId: smithOf(caller) ?? query.smith_id });
  return pageReply(rows, page, (row) => row.id, renderMeterEvent);
}

/** The public shape of a row. */
export function renderMeterEvent(row: MeterEventRow): MeterEvent {
  return {
    id: row.id,
    meter: row.meter,
    quantity: Number(row.quantity),
    smith_id: row.smith_id === '' ? null : row.smith_id,
    customer_id: row.customer_id === '' ? null : row.customer_id,
    at: row.at.toISOString(),
    created_at: row.created_at.toISOString(),
  };
}
