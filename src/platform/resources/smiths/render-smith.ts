import { effectiveConfig, inheritedConfig, setKeys } from '../../configuration/effective-config.ts';
import { renderInstructions } from '../../configuration/render-instructions.ts';
import type { RevisionRow } from '../../smiths/revision-store.ts';
import type { SmithRow } from '../../smiths/smith-store.ts';
import type { Smith, SmithRevision } from './schema.ts';

/** The public shape of a smith. */
export function renderSmith(row: SmithRow): Smith {
  const { agent_snapshot: snapshot, config: own } = row;
  const config = effectiveConfig(own, snapshot);
  const rendered = renderInstructions(config.instructions, snapshot?.variables ?? [], row.metadata);
  const overrides = row.agent_id === null ? [] : setKeys(own);
  return {
    id: row.id,
    external_id: row.external_id,
    display_name: row.display_name,
    locale: row.locale,
    timezone: row.timezone,
    customer_id: row.customer_id,
    metadata: row.metadata,
    ...config,
    rendered_instructions: rendered.missing.length > 0 ? null : (rendered.text ?? null),
    config_source: row.agent_id === null ? 'custom' : overrides.length > 0 ? 'override' : 'agent',
    agent_id: row.agent_id,
    agent_version: row.agent_version,
    pin: row.pin,
    override_keys: overrides,
    inherited: snapshot === null ? null : inheritedConfig(snapshot),
    created_at: row.created_at.toISOString(),
  };
}

/** The public shape of a revision. */
export function renderRevision(row: RevisionRow): SmithRevision {
  return { ...row, created_at: row.created_at.toISOString() };
}
