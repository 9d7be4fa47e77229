/**
 * Refresh tokens. Each is spent by the use that gives its successor. For 30 seconds it may be used again, for clients race
 * themselves and answers get lost: then its successor gets a sibling. After that, one that comes back ends its family.
 */
import type { Executor } from '../../kernel/db/database.ts';
import type { TenantTransaction } from '../store/tenant-db.ts';

const IDLE_DAYS = 30;
const SIBLING_SECONDS = 30;
/** Siblings of one successor. */
const MAX_USES = 20;

export async function insertRefreshToken(
  tx: TenantTransaction,
  { hash, tokenId }: { readonly hash: string; readonly tokenId: string },
): Promise<void> {
  await tx.raw({
    text: `
      insert into oauth_refresh_tokens (project_id, hash, token_id, expires_at)
      values ($1, $2, $3, now() + interval '${IDLE_DAYS} days')`,
    values: [hash, tokenId],
  });
}

export interface SpentRefreshToken {
  readonly project_id: string;
  readonly token_id: string;
  readonly deployment_id: string;
}

/**
 * Spends it, unless it was spent longer ago, has ended, is another client's, or what it is for has ended: its token, smith,
 * deployment or project.
 */
export async function spendRefreshToken(
  db: Executor,
  hash: string,
  clientId: string,
): Promise<SpentRefreshToken | undefined> {
  const { rows } = await db.query<SpentRefreshToken>({
    text: `
      update oauth_refresh_tokens r set spent_at = coalesce(r.spent_at, now()), uses = r.uses + 1
      from tokens t
        join projects p on p.id = t.project_id and p.archived_at is null
        join smiths s on s.project_id = t.project_id and s.id = t.smith_id and s.archived_at is null
        join deployments d on d.project_id = t.project_id and d.id = t.deployment_id
      where r.hash = $1 and t.project_id = r.project_id and t.id = r.token_id and t.client_id = $2 and t.revoked_at is null
        and r.expires_at > now() and r.uses < ${MAX_USES}
        and (r.spent_at is null or r.spent_at > now() - interval '${SIBLING_SECONDS} seconds')
      returning r.project_id, r.token_id, t.deployment_id`,
    values: [hash, clientId],
  });
  return rows[0];
}

/** The token whose family it is of; `is_spent`: longer ago than a race explains. */
export async function findFamily(
  db: Executor,
  hash: string,
  clientId: string,
): Promise<{ readonly project_id: string; readonly token_id: string; readonly is_spent: boolean } | undefined> {
  const { rows } = await db.query<{ project_id: string; token_id: string; is_spent: boolean }>({
    text: `
      select r.project_id, r.token_id,
        coalesce(r.spent_at <= now() - interval '${SIBLING_SECONDS} seconds', false) as is_spent
      from oauth_refresh_tokens r join tokens t on t.project_id = r.project_id and t.id = r.token_id
      where r.hash = $1 and t.client_id = $2`,
    values: [hash, clientId],
  });
  return rows[0];
}
