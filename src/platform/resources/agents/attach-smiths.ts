import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { CONFIG_KEYS } from '../../configuration/effective-config.ts';
import { countLeft, holdAgents, holdCustomSmiths, holdSmiths, listCustomSmiths } from '../../smiths/index.ts';
import type { TenantDb, TenantTransaction } from '../../store/tenant-db.ts';
import { beginAttachment, joinBatch } from './join-batch.ts';
import type { AgentPath, AttachIn, AttachOut } from './schema.ts';
import { findAgent } from './store.ts';

type Attached = AttachOut['attached'];

/** Smiths that one round of statements changes: bounds what a request that attaches all of them holds at a time. */
const BATCH_SIZE = 500;

/** Lets smiths follow the agent: those that are named, from wherever they are, or all that follow none. */
export async function attachSmiths({
  tx,
  caller,
  params,
  body,
}: ProjectChange<{ params: AgentPath; body: AttachIn }>): Promise<AttachOut> {
  const ids = [...new Set(body.smith_ids ?? [])];
  if ((body.all === true) === ids.length > 0) {
    throw new ApiError('invalid_request', {
      param: 'smith_ids',
      message: 'Send either `all: true` or the `smith_ids` to attach.',
    });
  }
  if ((await findAgent(tx, params.aid)) === undefined) throw new ApiError('not_found');
  const attached =
    ids.length > 0 ? await attachNamed(tx, caller, tx, params.aid, ids) : await attachAll(tx, caller, tx, params.aid);
  return { attached, count: attached.length };
}

async function attachNamed(
  tx: TenantTransaction,
  caller: ProjectCaller,
  db: TenantDb,
  agentId: string,
  ids: readonly string[],
): Promise<Attached> {
  const smiths = await holdSmiths(db, ids);
  const found = new Set(smiths.map(({ id }) => id));
  const missing = ids.find((id) => !found.has(id));
  if (missing !== undefined) {
    throw new ApiError('not_found', {
      param: 'smith_ids',
      message: `This project has no smith "${missing}". Nothing was attached.`,
    });
  }
  const agents = await holdAgents(db, [agentId, ...smiths.map(({ agent_id }) => agent_id)]);
  const joining = smiths.filter(({ agent_id }) => agent_id !== agentId);
  for (const agent of agents.keys()) {
    const leaving = joining.filter(({ agent_id }) => agent_id === agent).length;
    if (leaving > 0) await countLeft(db, agent, leaving);
  }
  const attachment = await beginAttachment(tx, caller, agents.get(agentId));
  const attached: Attached = smiths
    .filter(({ agent_id }) => agent_id === agentId)
    .map(({ id, own_keys }) => ({ smith_id: id, override_keys: CONFIG_KEYS.filter((key) => own_keys.includes(key)) }));
  for (let start = 0; start < joining.length; start += BATCH_SIZE) {
    const batch = joining.slice(start, start + BATCH_SIZE).map(({ id }) => id);
    attached.push(...(await joinBatch(attachment, batch)));
  }
  return attached;
}

async function attachAll(
  tx: TenantTransaction,
  caller: ProjectCaller,
  db: TenantDb,
  agentId: string,
): Promise<Attached> {
  await holdCustomSmiths(db);
  const attachment = await beginAttachment(tx, caller, (await holdAgents(db, [agentId])).get(agentId));
  const attached: Attached = [];
  let last = '';
  for (;;) {
    const batch = await listCustomSmiths(db, last, BATCH_SIZE);
    attached.push(...(await joinBatch(attachment, batch)));
    last = batch.at(-1) ?? '';
    if (batch.length < BATCH_SIZE) return attached;
  }
}
