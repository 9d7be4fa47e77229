/**
 * Answers of successes by `Idempotency-Key`, kept for 24 hours. The contract's rules differ from the platform's: two
 * concurrent requests with one key both run (what must happen once, such as a charge, is kept to once by the constraints of
 * orders), and errors are never stored.
 */
import type { Executor } from '../kernel/db/database.ts';
import { ApiError } from '../kernel/http/errors.ts';
import type { IdempotencyStore, StoredAnswer } from '../kernel/http/idempotency.ts';
import type { IdempotencyClaim } from '../kernel/http/operation.ts';
import { addressKey } from '../kernel/http/rate-limit.ts';
import type { Vault } from '../kernel/vault/vault.ts';
import type { Caller } from './access/caller.ts';

const RETENTION_HOURS = 24;

/** Owner of the keys of calls without a token. */
const PUBLIC_OWNER = 'public';

/** The store, and its two steps for operations that outlive a transaction. */
export interface AnswerStore extends IdempotencyStore<Caller | undefined> {
  /** The answer of an earlier success. Throws `idempotency_key_reused` when that was another request. */
  find(executor: Executor, workspaceId: string, claim: IdempotencyClaim): Promise<StoredAnswer | undefined>;
  keep(executor: Executor, workspaceId: string, claim: IdempotencyClaim, answer: StoredAnswer): Promise<void>;
}

interface AnswerRow {
  fingerprint: string;
  status: number;
  sealed_body: string;
}

export function createAnswerStore(vault: Vault): AnswerStore {
  const find: AnswerStore['find'] = async (executor, owner, claim) => {
    const { rows } = await executor.query<AnswerRow>({
      text: `
        select fingerprint, status, sealed_body from domains.idempotency_keys
        where owner = $1 and operation = $2 and key = $3 and expires_at > now()`,
      values: [owner, claim.operation, claim.key],
    });
    const row = rows[0];
    if (row === undefined) return undefined;
    if (row.fingerprint !== claim.fingerprint) throw new ApiError('idempotency_key_reused');
    return { status: row.status, body: vault.open(row.sealed_body, sealContext(owner, claim)) };
  };
  const keep: AnswerStore['keep'] = async (executor, owner, claim, answer) => {
    await executor.query({
      // The first of two concurrent successes stays, unless it has expired.
      text: `
        insert into domains.idempotency_keys (owner, operation, key, fingerprint, status, sealed_body, expires_at)
        values ($1, $2, $3, $4, $5, $6, now() + make_interval(hours => ${RETENTION_HOURS}))
        on conflict (owner, operation, key) do update
          set fingerprint = excluded.fingerprint, status = excluded.status, sealed_body = excluded.sealed_body,
              created_at = now(), expires_at = excluded.expires_at
          where domains.idempotency_keys.expires_at <= now()`,
      values: [
        owner,
        claim.operation,
        claim.key,
        claim.fingerprint,
        answer.status,
        vault.seal(answer.body, sealContext(owner, claim)),
      ],
    });
  };
  return {
    refusals: ['idempotency_key_reused'],
    // Sign-up has no authentication: a request with a guessed key and another address must not get the token.
    claimantOf: (caller, _headers, address) => (caller === undefined ? addressKey(address) : ''),
    claim: (tx, caller, claim) => find(tx, caller?.workspaceId ?? PUBLIC_OWNER, claim),
    complete: (tx, caller, claim, answer) => keep(tx, caller?.workspaceId ?? PUBLIC_OWNER, claim, answer),
    find,
    keep,
  };
}

/** Removes expired answers. */
export async function removeExpiredAnswers(executor: Executor): Promise<void> {
  await executor.query({ text: 'delete from domains.idempotency_keys where expires_at <= now()' });
}

function sealContext(owner: string, claim: IdempotencyClaim): string {
  return `domains.idempotency_keys/${owner}/${claim.operation}/${claim.key}`;
}
