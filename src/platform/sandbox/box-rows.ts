/** What a run's commands find in the store, and how its box is told of. Boxes and secrets are read and written here alone. */
import { json } from '../../kernel/db/values.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import { appendEvent } from '../feed/append-event.ts';
import type { TenantDb, TenantTransaction } from '../store/tenant-db.ts';
import type { Actor, JsonObject } from '../tables.ts';
import { sandboxSecretContext } from './secret-context.ts';

export interface BoxState {
  readonly boxId: string | null;
  readonly archive: { readonly id: string; readonly bytes: number } | null;
  /** Path below /workspace/output → SHA-256 of what was made a file of it. */
  readonly outputs: Readonly<Record<string, string>>;
  readonly input: readonly JsonObject[];
  readonly actor: Actor | null;
  readonly secrets: ReadonlyMap<string, string>;
}

interface StateRow {
  readonly box_id: string | null;
  readonly archive_id: string | null;
  readonly archive_bytes: number | null;
  readonly outputs: Record<string, string> | null;
  readonly input: JsonObject[];
  readonly actor: Actor | null;
  readonly secrets: [name: string, sealedValue: string][];
}

/** Undefined where there is no such run. */
export async function loadBoxState(
  db: TenantDb,
  vault: Pick<Vault, 'open'>,
  runId: string,
): Promise<BoxState | undefined> {
  const { rows } = await db.raw<StateRow>({
    text: `
      select b.id as box_id, b.archive_id, b.archive_bytes, b.outputs, r.input, r.actor,
        (select coalesce(jsonb_agg(jsonb_build_array(s.name, s.sealed_value)), '[]')
         from sandbox_secrets s where s.project_id = $1) as secrets
      from runs r left join sandbox_boxes b on b.project_id = $1 and b.run_id = r.id
      where r.project_id = $1 and r.id = $2`,
    values: [runId],
  });
  const [row] = rows;
  if (row === undefined) return undefined;
  return {
    boxId: row.box_id,
    archive: row.archive_id === null ? null : { id: row.archive_id, bytes: row.archive_bytes ?? 0 },
    outputs: row.outputs ?? {},
    input: row.input,
    actor: row.actor,
    secrets: new Map(
      row.secrets.map(([name, sealed]) => [name, vault.open(sealed, sandboxSecretContext(db.projectId, name))]),
    ),
  };
}

export interface StartedBox {
  readonly runId: string;
  readonly smithId: string;
  readonly boxId: string;
  readonly actor: Actor | null;
  readonly image: string;
  readonly imageDigest: string;
}

/** Tells of the run's box, once: of two that come up for one run the second is the first one's. */
export async function insertBox(tx: TenantTransaction, box: StartedBox): Promise<void> {
  const { rowCount } = await tx.raw({
    text: 'insert into sandbox_boxes (project_id, run_id, id) values ($1, $2, $3) on conflict do nothing',
    values: [box.runId, box.boxId],
  });
  if (rowCount === 0) return;
  await appendEvent(tx, {
    type: 'sandbox.started',
    smithId: box.smithId,
    actor: box.actor,
    data: {
      sandbox_id: box.boxId,
      run_id: box.runId,
      image: box.image,
      image_digest: box.imageDigest,
      task_definition: 'run_command',
    },
  });
}

/** False where the workspace is not the one any more that the command began with: another replica has the run. */
export async function replaceWorkspace(
  tx: TenantTransaction,
  runId: string,
  before: { readonly id: string } | null,
  after: { readonly id: string; readonly bytes: number } | null,
  outputs: Readonly<Record<string, string>>,
): Promise<boolean> {
  const { rowCount } = await tx.raw({
    text: `
      update sandbox_boxes set archive_id = $3, archive_bytes = $4, outputs = $5
      where project_id = $1 and run_id = $2 and archive_id is not distinct from $6::text`,
    values: [runId, after?.id ?? null, after?.bytes ?? 0, json(outputs), before?.id ?? null],
  });
  return rowCount > 0;
}

/** The box of a run that has ended: its archive, null where it left none; undefined where there is no such box. */
export async function removeBox(
  tx: TenantTransaction,
  runId: string,
): Promise<{ readonly id: string; readonly bytes: number } | null | undefined> {
  const { rows } = await tx.raw<{ archive_id: string | null; archive_bytes: number }>({
    text: `
      delete from sandbox_boxes b where project_id = $1 and run_id = $2 and not exists (
        select from runs r where r.project_id = $1 and r.id = $2 and r.status in ('in_progress', 'paused'))
      returning archive_id, archive_bytes`,
    values: [runId],
  });
  const [row] = rows;
  if (row === undefined) return undefined;
  return row.archive_id === null ? null : { id: row.archive_id, bytes: row.archive_bytes };
}
