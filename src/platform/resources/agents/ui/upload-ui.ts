import { isDeepStrictEqual } from 'node:util';
import { ApiError } from '../../../../kernel/http/errors.ts';
import { HttpReply } from '../../../../kernel/http/operation.ts';
import { actorOf } from '../../../access/caller.ts';
import type { ProjectChange } from '../../../access/operation.ts';
import { appendEvent } from '../../../feed/append-event.ts';
import { createParameterCheck } from '../../../schemas/index.ts';
import type { TenantTransaction } from '../../../store/tenant-db.ts';
import type { UiResource } from '../../../tables.ts';
import { isReservedToolName } from '../../../tools/ui-tools.ts';
import { blobKey, chargeStorage, claimBlobs, type FileDependencies } from '../../files/index.ts';
import type { AgentPath } from '../schema.ts';
import { type LockedAgent, lockAgent, updateAgent } from '../store.ts';
import { discardAfterCommit, releaseBundle } from './release-bundle.ts';
import type { UiResourceFields } from './schema.ts';
import { insertBundle } from './store.ts';
import type { StoredDocument } from './store-bundle.ts';

export const MAX_RESOURCES = 50;
/** Of all resources of a draft, as JSON in UTF-8: a turn reads them with its agent. */
export const MAX_RESOURCES_BYTES = 262_144;

/** Puts the resource into the draft, in the place of one with its name: 201 with a new one, 200 where it replaces. */
export async function uploadUi(
  deps: FileDependencies,
  {
    tx,
    caller,
    params,
    body,
    file: document,
    log,
  }: ProjectChange<{ params: AgentPath; body: UiResourceFields; file: StoredDocument }>,
): Promise<HttpReply<UiResource>> {
  const resource = completeResource(body, document.sha256);
  const agent = await lockAgent(tx, params.aid);
  if (agent === undefined) throw new ApiError('not_found');
  const present = agent.draft.ui_resources.find(({ name }) => name === resource.name);
  const isNew = present === undefined;
  const resources = isNew
    ? [...agent.draft.ui_resources, resource]
    : agent.draft.ui_resources.map((one) => (one === present ? resource : one));
  checkRoom(resources);

  const kept = await insertBundle(tx, {
    content_hash: document.sha256,
    blob_id: document.blobId,
    bytes: document.bytes,
  });
  const isKept = kept === document.blobId;
  if (isKept) await claimBlobs(tx, [blobKey(tx.projectId, document.blobId)]);
  else discardAfterCommit(deps, tx, document.blobId, log);
  if (!isDeepStrictEqual(present, resource)) {
    await changeResources(tx, agent, resources);
    await appendEvent(tx, {
      type: 'agent.updated',
      actor: actorOf(caller),
      data: { agent_id: agent.id, changed: ['ui_resources'] },
    });
  }
  if (present !== undefined && present.content_hash !== resource.content_hash) {
    await releaseBundle(deps, tx, present.content_hash, log);
  }
  if (isKept) await chargeStorage(tx, document.bytes, deps.config.projectStorageBytes);
  return new HttpReply(isNew ? 201 : 200, resource);
}

export async function changeResources(
  tx: TenantTransaction,
  { id, draft }: Pick<LockedAgent, 'id' | 'draft'>,
  resources: UiResource[],
): Promise<void> {
  await updateAgent(tx, id, { draft: { ...draft, ui_resources: resources } });
}

/** Every member as replies have it. Throws `invalid_name`, `schema_error` and `invalid_request` for a tool. */
function completeResource({ name, csp, tool, ...rest }: UiResourceFields, contentHash: string): UiResource {
  if (tool != null) checkTool(name, tool);
  return {
    name,
    content_hash: contentHash,
    csp: csp == null ? null : { connectDomains: [], resourceDomains: [], frameDomains: [], baseUriDomains: [], ...csp },
    permissions: rest.permissions ?? null,
    prefers_border: rest.prefers_border ?? null,
    domain: rest.domain ?? null,
    tool:
      tool == null
        ? null
        : {
            description: tool.description,
            input_schema: tool.input_schema ?? { type: 'object', properties: {} },
            instruction: tool.instruction ?? null,
            mutating: tool.mutating ?? false,
            visibility: tool.visibility ?? ['model', 'app'],
          },
  };
}

function checkTool(name: string, { input_schema: schema }: NonNullable<UiResourceFields['tool']>): void {
  if (isReservedToolName(name)) {
    const message = `\`${name}\` is the name of a tool of the server. Choose another, for turns offer both.`;
    throw new ApiError('invalid_name', { param: 'name', message });
  }
  if (schema === undefined) return;
  if (schema.type !== undefined && schema.type !== 'object') {
    throw new ApiError('schema_error', {
      param: 'tool.input_schema',
      message: '`tool.input_schema` must be a JSON Schema of an object, or be left out.',
    });
  }
  createParameterCheck()(schema, 'tool.input_schema');
}

function checkRoom(resources: readonly UiResource[]): void {
  if (resources.length > MAX_RESOURCES) {
    const message = `An agent has at most ${MAX_RESOURCES} UI resources. Delete one first.`;
    throw new ApiError('invalid_request', { param: 'name', message });
  }
  if (Buffer.byteLength(JSON.stringify(resources)) <= MAX_RESOURCES_BYTES) return;
  const message =
    `The UI resources of an agent, their documents not counted, have at most ${MAX_RESOURCES_BYTES} bytes of JSON together. ` +
    'Shorten their tools, or delete one first.';
  throw new ApiError('invalid_request', { param: 'tool', message });
}
