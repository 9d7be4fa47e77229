/**
 * What a project's files and vector stores take, and how much they may: stores are counted by a trigger, at the end of a
 * transaction that changes what they hold. One row a project, changed in the transaction that writes or removes
 * a file's row: of two uploads that end at the same time the second sees what the first has taken. Whoever changes it does
 * so last, because all of the project's files wait for the row.
 */
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Metrics } from '../../../kernel/metrics/metrics.ts';
import type { TenantDb, TenantTransaction } from '../../store/tenant-db.ts';

/** Takes the bytes from what the project has left. Throws `payload_too_large` where they do not fit. */
export async function chargeStorage(tx: TenantTransaction, bytes: number, limitBytes: number): Promise<void> {
  const { rows } = await tx.raw({
    text: `
      insert into project_storage (project_id, used_bytes) select $1, $2::bigint where $2::bigint <= $3::bigint
      on conflict (project_id) do update set used_bytes = project_storage.used_bytes + excluded.used_bytes
      where project_storage.used_bytes + excluded.used_bytes <= $3::bigint
      returning used_bytes`,
    values: [bytes, limitBytes],
  });
  if (rows.length === 0) throw storageExceeded(limitBytes);
}

/** Gives back what a removed file took. */
export async function giveBackStorage(tx: TenantTransaction, bytes: number): Promise<void> {
  await tx.raw({
    text: 'update project_storage set used_bytes = greatest(used_bytes - $2::bigint, 0) where project_id = $1',
    values: [bytes],
  });
}

/** What the project's files and vector stores take, in bytes. */
export async function readUsedBytes(db: TenantDb): Promise<number> {
  const row = await db.selectFrom('project_storage').select('used_bytes').executeTakeFirst();
  return row?.used_bytes ?? 0;
}

/**
 * `payload_too_large`, for the content is larger than what is left: waiting does not help, as with 402 and 429 it would
 * seem to, and clients do not send it again by themselves. How much is left is the tenant's to know, not an end user's.
 */
export function storageExceeded(limitBytes: number): ApiError {
  return new ApiError('payload_too_large', {
    param: 'file',
    message:
      `The files and vector stores of this project may take ${limitBytes} bytes together, and this one does not fit. ` +
      'Delete files with `DELETE /v1/files/{fid}`, take them out of vector stores, or let new ones end by themselves with ' +
      '`expires_after`.',
    details: { limit_bytes: limitBytes },
  });
}

/** The gauge of what the files and vector stores of all projects take, as the database has it when the gauge is read. */
export function measureStorage(metrics: Metrics, db: Database): void {
  metrics.sharedGauge(
    'stored_file_bytes',
    'Bytes of the files and vector stores of all projects',
    [],
    async (gauge) => {
      // Without the database the page shows what was last known.
      const found = await db
        .query<{ bytes: number }>({
          text: 'select coalesce(sum(used_bytes), 0)::bigint as bytes from project_storage',
          values: [],
        })
        .catch(() => undefined);
      const bytes = found?.rows[0]?.bytes;
      if (bytes !== undefined) gauge.set(bytes);
    },
  );
}
