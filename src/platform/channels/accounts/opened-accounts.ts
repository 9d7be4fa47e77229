/**
 * Accounts of projects, opened for a moment: many messages of one account come and go together, and each would read it twice.
 * Whoever saves an account has it forgotten here and on all replicas; should that not arrive, the moment is over soon.
 */
import { LRUCache } from 'lru-cache';
import type { Executor } from '../../../kernel/db/database.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { tenantDb } from '../../store/tenant-db.ts';
import type { MessagingKind } from '../../tables.ts';
import type { OpenAccount } from '../channel.ts';
import { findAnyAccount } from './account-store.ts';
import { openAccount } from './open-account.ts';

const MOMENT_MS = 1_000;
const MAX_ACCOUNTS = 1_000;

export interface OpenedAccount {
  readonly account: OpenAccount;
  /** What the provider is to send with each call, as `isWebhookSecret` compares it. */
  readonly webhookKeyHash: string | null;
  /** The project is not archived. */
  readonly isLive: boolean;
}

export interface OpenedAccounts {
  /** The project's account of the kind; undefined where there is none. Throws `VaultError` for one whose master key is gone. */
  find(projectId: string, kind: MessagingKind): Promise<OpenedAccount | undefined>;
  /** Those of the project have changed; empty: of all projects. */
  forget(projectId: string): void;
}

export function createOpenedAccounts({
  db,
  vault,
}: {
  readonly db: Executor;
  readonly vault: Pick<Vault, 'open'>;
}): OpenedAccounts {
  const opened = new LRUCache<string, Promise<OpenedAccount | undefined>>({ max: MAX_ACCOUNTS, ttl: MOMENT_MS });

  async function open(projectId: string, kind: MessagingKind): Promise<OpenedAccount | undefined> {
    const row = await findAnyAccount(tenantDb(db, projectId), kind);
    if (row === undefined) return undefined;
    const account = openAccount(vault, projectId, row);
    return { account, webhookKeyHash: row.webhook_key_hash, isLive: row.is_live };
  }

  return {
    find(projectId, kind) {
      const key = `${projectId}/${kind}`;
      const before = opened.get(key);
      if (before !== undefined) return before;
      const found = open(projectId, kind);
      opened.set(key, found);
      // One that is missing may be there with the next look.
      const drop = () => {
        if (opened.peek(key) === found) opened.delete(key);
      };
      found.then((account) => account ?? drop(), drop);
      return found;
    },
    forget(projectId) {
      if (projectId === '') opened.clear();
      for (const key of opened.keys()) if (key.startsWith(`${projectId}/`)) opened.delete(key);
    },
  };
}
