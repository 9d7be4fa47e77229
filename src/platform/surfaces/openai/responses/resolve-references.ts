/**
 * `item_reference`: an item that a response of the same smith has shown, in place of its copy; and what calls of MCP servers
 * gave, where the copy of one lacks it.
 */

import type { Executor } from '../../../../kernel/db/database.ts';
import { isId } from '../../../../kernel/ids/ids.ts';
import type { ProjectCaller } from '../../../access/caller.ts';
import { mayRefer } from '../../../access/references.ts';
import type { RunRow } from '../../../engine/index.ts';
import { tenantDb } from '../../../store/tenant-db.ts';
import type { JsonObject } from '../../../tables.ts';
import { runOfItem } from '../item-ids.ts';
import { listInputItems } from './input-items.ts';
import { type InputItem, invalid, readInput } from './read-input.ts';
import { findResponse, foldStored } from './response-segment.ts';
import { findRun } from './response-store.ts';

/** Throws `invalid_input` for an id that no stored response of the smith has shown. */
export async function resolveReferences(
  db: Executor,
  owner: { readonly caller: ProjectCaller; readonly projectId: string; readonly smithId: string },
  items: readonly InputItem[],
): Promise<InputItem[]> {
  const known = new Map<string, Map<string, JsonObject>>();
  const resolved: InputItem[] = [];
  for (const item of items) {
    if (item.kind === 'remote_call' && item.result === undefined) {
      resolved.push(await withResult(db, owner, item, known));
      continue;
    }
    if (item.kind !== 'reference') {
      resolved.push(item);
      continue;
    }
    // Of a request for an approval the run itself knows.
    if (isId('apr', item.id)) continue;
    const runId = mayRefer(owner.caller, 'response') ? runOfItem(item.id) : undefined;
    if (runId !== undefined && !known.has(runId)) known.set(runId, await loadItems(db, owner, runId));
    const found = known.get(runId ?? '')?.get(item.id);
    if (found === undefined) {
      throw invalid(`input.${item.index}.id`, 'names no item of a stored response of this smith');
    }
    resolved.push(...readInput([found]).map((each) => ({ ...each, index: item.index })));
  }
  return resolved;
}

type RemoteCall = Extract<InputItem, { kind: 'remote_call' }>;

/** Without a result still where no stored response of the smith has shown the call. */
async function withResult(
  db: Executor,
  owner: { readonly caller: ProjectCaller; readonly projectId: string; readonly smithId: string },
  item: RemoteCall,
  known: Map<string, Map<string, JsonObject>>,
): Promise<RemoteCall> {
  const runId = mayRefer(owner.caller, 'response') ? runOfItem(item.itemId) : undefined;
  if (runId === undefined) return item;
  if (!known.has(runId)) known.set(runId, await loadItems(db, owner, runId));
  const found = known.get(runId)?.get(item.itemId);
  const [shown] = found === undefined ? [] : readInput([found]);
  return shown?.kind === 'remote_call' ? { ...item, result: shown.result } : item;
}

/** Every item of the run's responses, by id: what was put in and what came out. */
async function loadItems(
  db: Executor,
  { projectId, smithId }: { readonly projectId: string; readonly smithId: string },
  runId: string,
): Promise<Map<string, JsonObject>> {
  const run = await findRun(tenantDb(db, projectId), runId, smithId);
  const items = new Map<string, JsonObject>();
  if (run === undefined || run.hidden_at !== null) return items;
  for await (const item of listRunItems(db, run)) items.set(String(item.id), item);
  return items;
}

async function* listRunItems(db: Executor, run: RunRow): AsyncGenerator<JsonObject> {
  for (let number = 1; ; number += 1) {
    const segment = findResponse(run, number);
    if (segment === undefined) return;
    yield* listInputItems(segment);
    const fold = await foldStored(tenantDb(db, run.project_id), segment);
    yield* fold.response.output as JsonObject[];
    if (!fold.ended) return;
  }
}
