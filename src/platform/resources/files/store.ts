/** Rows of files. Every query is already scoped to one project by the handle that it is given. */
import { type Selectable, sql } from 'kysely';
import { isLiveFile } from '../../store/expiry.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { TenantTables } from '../../tables.ts';

export type FileRow = Omit<Selectable<TenantTables['files']>, 'project_id'>;

export type NewFile = Omit<FileRow, 'created_at'>;

/** Which files, and from where: `limit + 1` of them. */
export interface FileScan {
  /** Undefined: whoever uploaded them. */
  readonly smithId: string | undefined;
  readonly purpose: string | undefined;
  readonly limit: number;
  /** Files on the far side of this id. */
  readonly from: string | undefined;
  readonly direction: 'asc' | 'desc';
}

const COLUMNS = [
  'id',
  'smith_id',
  'filename',
  'media_type',
  'purpose',
  'bytes',
  'sha256',
  'listed',
  'created_at',
  'expires_at',
] as const;

/** At least one. */
export async function insertFiles(db: TenantDb, files: readonly NewFile[]): Promise<FileRow[]> {
  return db.insertInto('files').values(files).returning(COLUMNS).execute();
}

/** The file, listed or not; of this smith where one is given. */
export async function findFile(db: TenantDb, id: string, smithId: string | undefined): Promise<FileRow | undefined> {
  const found = db.selectFrom('files').select(COLUMNS).where('id', '=', id).where(isLiveFile);
  return (smithId === undefined ? found : found.where('smith_id', '=', smithId)).executeTakeFirst();
}

/** Whether this is a listed file, of this smith and this purpose where they are given; also one that has expired. */
export async function hasListedFile(
  db: TenantDb,
  id: string,
  { smithId, purpose }: Pick<FileScan, 'smithId' | 'purpose'>,
): Promise<boolean> {
  let found = db.selectFrom('files').select('id').where('id', '=', id).where('listed', '=', true);
  if (smithId !== undefined) found = found.where('smith_id', '=', smithId);
  if (purpose !== undefined) found = found.where('purpose', '=', purpose);
  return (await found.executeTakeFirst()) !== undefined;
}

/** Listed files in the order of their ids, which is that of their uploads. */
export async function listFiles(db: TenantDb, scan: FileScan): Promise<FileRow[]> {
  // As the indexes order it, whatever the order of the database is.
  const id = sql<string>`files.id collate "C"`;
  let files = db.selectFrom('files').select(COLUMNS).where('listed', '=', true).where(isLiveFile);
  if (scan.smithId !== undefined) files = files.where('smith_id', '=', scan.smithId);
  if (scan.purpose !== undefined) files = files.where('purpose', '=', scan.purpose);
  if (scan.from !== undefined) files = files.where(id, scan.direction === 'asc' ? '>' : '<', scan.from);
  return files
    .orderBy(id, scan.direction)
    .limit(scan.limit + 1)
    .execute();
}

/** Undefined when there is no such file, or it is not this smith's. */
export async function removeFile(
  db: TenantDb,
  id: string,
  smithId: string | undefined,
): Promise<Pick<FileRow, 'smith_id' | 'listed' | 'bytes'> | undefined> {
  const gone = db.deleteFrom('files').where('id', '=', id).returning(['smith_id', 'listed', 'bytes']);
  return (smithId === undefined ? gone : gone.where('smith_id', '=', smithId)).executeTakeFirst();
}
