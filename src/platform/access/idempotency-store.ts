/** Stored answers of creates, by project, claimant and operation, for 24 hours. See kernel/http/idempotency.ts for the rules. */
import type { Transaction } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { IdempotencyStore } from '../../kernel/http/idempotency.ts';
import type { IdempotencyClaim } from '../../kernel/http/operation.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import type { Caller } from './caller.ts';

const RETENTION_HOURS = 24;

const SMITH_HEADERS = ['ic-smith-id', 'ic-agent-id'] as const;

interface ClaimRow {
  locked: boolean;
  fingerprint: string | null;
  status: number | null;
  sealed_body: string | null;
}

export function createIdempotencyStore(vault: Vault): IdempotencyStore<Caller> {
  return {
    refusals: ['idempotency_in_progress', 'idempotency_key_reused'],
    claimantOf(caller, headers) {
      // Without one, whoever keeps the account knows whose key it is.
      if (caller === undefined) return '';
      // The surfaces on which a tenant's token names the smith in a header: see openai/resolve-smith.ts.
      const named = SMITH_HEADERS.map((name) => headers[name]).filter((value) => value !== undefined);
      return caller.kind === 'smith' ? caller.smithId : named.join(' ');
    },
    async claim(tx, caller, claim) {
      const owner = ownerOf(caller);
      const row = await findClaim(tx, owner, claim);
      if (!row.locked) throw new ApiError('idempotency_in_progress', { retryAfterSeconds: 1 });
      if (row.fingerprint === null) return undefined;
      if (row.fingerprint !== claim.fingerprint) throw new ApiError('idempotency_key_reused');
      return { status: row.status ?? 200, body: vault.open(row.sealed_body ?? '', sealContext(owner, claim)) };
    },
    async complete(tx, caller, claim, answer) {
      const owner = ownerOf(caller);
      await tx.query({
        text: `
          insert into idempotency_keys (project_id, operation, key, fingerprint, status, sealed_body, expires_at)
          values ($1, $2, $3, $4, $5, $6, now() + make_interval(hours => ${RETENTION_HOURS}))
          on conflict (project_id, operation, key) do update
            set fingerprint = excluded.fingerprint, status = excluded.status, sealed_body = excluded.sealed_body,
                created_at = now(), expires_at = excluded.expires_at
            where idempotency_keys.expires_at <= now()`,
        values: [
          owner,
          claim.operation,
          claim.key,
          claim.fingerprint,
          answer.status,
          vault.seal(answer.body, sealContext(owner, claim)),
        ],
      });
    },
  };
}

/**
 * The advisory lock makes "still running" visible to every replica without waiting; it falls with the transaction. It
 * is taken in a statement of its own: the row is then read by a snapshot that is newer than the lock.
 */
async function findClaim(tx: Transaction, owner: string, claim: IdempotencyClaim): Promise<ClaimRow> {
  const lock = await tx.query<{ locked: boolean }>({
    text: `select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as locked`,
    values: [`${owner}\n${claim.operation}\n${claim.key}`],
  });
  const { rows } = await tx.query<Omit<ClaimRow, 'locked'>>({
    text: `
      select fingerprint, status, sealed_body from idempotency_keys
      where project_id = $1 and operation = $2 and key = $3 and expires_at > now()`,
    values: [owner, claim.operation, claim.key],
  });
  const stored = rows[0] ?? { fingerprint: null, status: null, sealed_body: null };
  return { locked: lock.rows[0]?.locked ?? false, ...stored };
}

function ownerOf(caller: Caller): string {
  return caller.kind === 'organization' ? caller.organizationId : caller.projectId;
}

function sealContext(owner: string, claim: IdempotencyClaim): string {
  return `idempotency_keys/${owner}/${claim.operation}/${claim.key}`;
}
