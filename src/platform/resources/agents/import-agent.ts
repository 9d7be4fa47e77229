import { ApiError } from '../../../kernel/http/errors.ts';
import type { ProjectChange } from '../../access/operation.ts';
import { effectiveConfig, setKeys } from '../../configuration/effective-config.ts';
import { findSmith } from '../../smiths/index.ts';
import { makeAgent } from './make-agent.ts';
import type { Agent, ImportIn } from './schema.ts';
import { holdBundles } from './ui/store.ts';

/** Makes an agent whose draft is what the smith runs with. The smith itself stays as it is. */
export async function importAgent({ tx, caller, body }: ProjectChange<{ body: ImportIn }>): Promise<Agent> {
  const smith = await findSmith(tx, body.from_smith);
  if (smith === undefined) {
    throw new ApiError('not_found', {
      param: 'from_smith',
      message: 'This project has no such smith. Take an id from `GET /v1/smiths`.',
    });
  }
  if (smith.agent_snapshot === null && setKeys(smith.config).length === 0) {
    throw new ApiError('empty_config', {
      param: 'from_smith',
      message: 'This smith has no configuration to import. Give it some with `PATCH /v1/smiths/{sid}`.',
    });
  }
  const draft = {
    ...effectiveConfig(smith.config, smith.agent_snapshot),
    variables: smith.agent_snapshot?.variables ?? [],
    ui_resources: smith.agent_snapshot?.ui_resources ?? [],
  };
  await holdBundles(
    tx,
    draft.ui_resources.map(({ content_hash }) => content_hash),
  );
  return makeAgent(tx, caller, { name: body.name, slug: null, draft }, smith.id);
}
