/**
 * Which account a number is reached through. Deployments of one number may have been told different tokens, as Twilio's are
 * replaced: the newest, which Twilio has accepted last, holds for all of them.
 */
import type { Executor } from '../../../kernel/db/database.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import type { JsonObject } from '../../tables.ts';
import { deploymentSecretContext } from '../deployment-secrets.ts';
import type { NumberKind } from './check-number.ts';

/** As `OpenAccount`, of any kind that has numbers. */
export interface OpenNumber<Kind extends NumberKind = NumberKind> {
  readonly projectId: string;
  readonly kind: Kind;
  readonly accountId: string;
  readonly settings: JsonObject;
  readonly secrets: Readonly<Record<string, string>>;
}

interface NumberRow {
  readonly id: string;
  readonly account_id: string;
  readonly provider_metadata: JsonObject;
  readonly sealed_secrets: string;
}

const COLUMNS = 'd.id, d.account_id, d.provider_metadata, d.sealed_secrets';

/** What one deployment is reached through; undefined where it is gone. */
export async function openNumberOf<Kind extends NumberKind>(
  db: TenantDb,
  vault: Pick<Vault, 'open'>,
  kind: Kind,
  deploymentId: string,
): Promise<OpenNumber<Kind> | undefined> {
  const { rows } = await db.raw<NumberRow>({
    text: `
      select ${COLUMNS}
      from deployments own
      join deployments d
        on d.project_id = own.project_id and d.kind = own.kind and d.account_id collate "C" = own.account_id
        and d.account_id <> ''
      where own.project_id = $1 and own.kind = $2 and own.id = $3 and d.sealed_secrets is not null
      order by d.id collate "C" desc limit 1`,
    values: [kind, deploymentId],
  });
  const [row] = rows;
  return row === undefined ? undefined : openRow(db, vault, kind, row);
}

/**
 * The accounts that a number of this id may be of: one, unless it was deployed with an API of somebody's own too. None of an
 * archived project.
 */
export async function openNumbers<Kind extends NumberKind>(
  db: TenantDb,
  vault: Pick<Vault, 'open'>,
  kind: Kind,
  id: string,
): Promise<readonly OpenNumber<Kind>[]> {
  const { rows } = await db.raw<NumberRow>({
    text: `
      select distinct on (d.account_id) ${COLUMNS}
      from deployments d join projects p on p.id = d.project_id
      where d.project_id = $1 and d.kind = $2 and p.archived_at is null and d.sealed_secrets is not null
        and d.account_id <> '' and d.account_id collate "C" between $3 and $4
      order by d.account_id, d.id collate "C" desc`,
    // Its own id, and all that it begins: an address of an API stands behind a colon.
    values: [kind, id, `${id}:\uffff`],
  });
  return rows.map((row) => openRow(db, vault, kind, row));
}

/** More accounts than any project has. */
const MAX_ACCOUNTS = 50;

/** All numbers of the project. */
export async function openAllNumbers<Kind extends NumberKind>(
  db: TenantDb,
  vault: Pick<Vault, 'open'>,
  kind: Kind,
): Promise<readonly OpenNumber<Kind>[]> {
  const { rows } = await db.raw<NumberRow>({
    text: `
      select distinct on (d.account_id) ${COLUMNS}
      from deployments d join projects p on p.id = d.project_id
      where d.project_id = $1 and d.kind = $2 and p.archived_at is null and d.sealed_secrets is not null
      order by d.account_id, d.id collate "C" desc
      limit $3`,
    values: [kind, MAX_ACCOUNTS],
  });
  return rows.map((row) => openRow(db, vault, kind, row));
}

/** Nobody else takes the number until the transaction ends. False where another project has it. */
export async function holdNumber(db: TenantDb, kind: NumberKind, accountId: string): Promise<boolean> {
  await db.raw({
    text: `select pg_advisory_xact_lock(hashtextextended('deployments ' || $2::text || ' ' || $3::text, 0)) from projects where id = $1`,
    values: [kind, accountId],
  });
  const { rows } = await db.raw({
    text: `
      select from deployments d join projects p on p.id = d.project_id
      where d.project_id <> $1 and d.kind = $2 and d.account_id collate "C" = $3 and d.account_id <> '' and p.archived_at is null
      limit 1`,
    values: [kind, accountId],
  });
  return rows.length === 0;
}

/** Whether it is a number that a smith of any project answers messages of: two of them would never stop. */
export async function isSmithsNumber(db: Executor, number: string): Promise<boolean> {
  const { rows } = await db.query({
    text: `
      select from deployments
      where kind = 'sms' and account_id <> '' and split_part(account_id, ':', 2) = $1 and status = 'active'
      limit 1`,
    values: [number],
  });
  return rows.length > 0;
}

/** Whether the project still has a deployment of the number. */
export async function isNumberInUse(db: TenantDb, kind: NumberKind, accountId: string): Promise<boolean> {
  const { rows } = await db.raw({
    text: `
      select from deployments
      where project_id = $1 and kind = $2 and account_id collate "C" = $3 and account_id <> ''
      limit 1`,
    values: [kind, accountId],
  });
  return rows.length > 0;
}

function openRow<Kind extends NumberKind>(
  { projectId }: TenantDb,
  vault: Pick<Vault, 'open'>,
  kind: Kind,
  { id, account_id: accountId, provider_metadata: settings, sealed_secrets }: NumberRow,
): OpenNumber<Kind> {
  const secrets = JSON.parse(vault.open(sealed_secrets, deploymentSecretContext(projectId, id)));
  return { projectId, kind, accountId, settings, secrets };
}
