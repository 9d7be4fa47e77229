/** Every column of the database whose values the master key seals for good: what a new master key has to seal again. */
import { authCodeContext, instrumentContext } from '../domains/orders/index.ts';
import type { Database, Executor, Transaction } from '../kernel/db/database.ts';
import { type Vault, VaultError } from '../kernel/vault/vault.ts';
import { webhookSecretContext } from '../kernel/webhooks/webhook-secret.ts';
import { channelAccountContext, deploymentSecretContext, slackInstallContext } from '../platform/channels/index.ts';
import { clientSecretContext, credentialContext } from '../platform/connections/index.ts';
import { mcpSecretContext, runCredentialsContext, suspendedCallContext } from '../platform/mcp/index.ts';
import { modelKeyContext } from '../platform/models/index.ts';
import { sandboxSecretContext } from '../platform/sandbox/index.ts';

type SealedRow = Readonly<Record<string, string>>;

export interface SealedColumn {
  readonly table: string;
  readonly column: string;
  /** The primary key; all text. */
  readonly key: readonly string[];
  /** The rows whose values are still needed; all of them when absent. */
  readonly where?: string;
  /** What the value was sealed for: the vault opens it with nothing else. */
  readonly context: (row: SealedRow) => string;
  /** Whether a row whose value can never be opened again is better gone: its owner is then told to save it anew. */
  readonly removeWhenLost: boolean;
}

export const sealedColumns: readonly SealedColumn[] = [
  {
    table: 'signing_keys',
    column: 'sealed_private_jwk',
    key: ['kid'],
    where: 'retired_at is null',
    context: ({ kid = '' }) => `signing_keys/${kid}`,
    removeWhenLost: false,
  },
  {
    table: 'model_keys',
    column: 'sealed_api_key',
    key: ['project_id', 'smith_id', 'provider'],
    context: ({ project_id = '', smith_id = '', provider = '' }) => modelKeyContext(project_id, smith_id, provider),
    removeWhenLost: true,
  },
  {
    table: 'sandbox_secrets',
    column: 'sealed_value',
    key: ['project_id', 'name'],
    context: ({ project_id = '', name = '' }) => sandboxSecretContext(project_id, name),
    removeWhenLost: true,
  },
  {
    table: 'mcp_servers',
    column: 'sealed_secret',
    key: ['project_id', 'id'],
    where: 'sealed_secret is not null',
    context: ({ project_id = '', id = '' }) => mcpSecretContext(project_id, id),
    // Its calls fail and say that it has to be registered again.
    removeWhenLost: false,
  },
  {
    table: 'mcp_suspended_calls',
    column: 'sealed_session',
    key: ['project_id', 'run_id', 'call_id'],
    context: ({ project_id = '', run_id = '', call_id = '' }) =>
      suspendedCallContext({ projectId: project_id, runId: run_id, callId: call_id }),
    // Its answer cannot be carried on, and the model is told.
    removeWhenLost: true,
  },
  {
    table: 'runs',
    column: 'sealed_mcp_credentials',
    key: ['project_id', 'id'],
    where: 'sealed_mcp_credentials is not null',
    context: ({ project_id = '', id = '' }) => runCredentialsContext(project_id, id),
    // Calls are made without them, until an answer to the run brings fresh ones.
    removeWhenLost: false,
  },
  {
    table: 'deployments',
    column: 'sealed_secrets',
    key: ['project_id', 'id'],
    where: 'sealed_secrets is not null',
    context: ({ project_id = '', id = '' }) => deploymentSecretContext(project_id, id),
    // Nobody gets in until it is made anew.
    removeWhenLost: false,
  },
  {
    table: 'channel_accounts',
    column: 'sealed_secrets',
    key: ['project_id', 'kind'],
    context: ({ project_id = '', kind = '' }) => channelAccountContext(project_id, kind),
    // Its messages are refused, and it says so, until it is saved again.
    removeWhenLost: false,
  },
  {
    table: 'slack_installs',
    column: 'sealed_bot_token',
    key: ['project_id', 'account_id', 'team_id'],
    context: ({ project_id = '', account_id = '', team_id = '' }) =>
      slackInstallContext(project_id, account_id, team_id),
    // Nothing is said there until the app is installed again.
    removeWhenLost: false,
  },
  {
    table: 'oauth_providers',
    column: 'sealed_client_secret',
    key: ['project_id', 'provider', 'secret_id'],
    where: 'sealed_client_secret is not null',
    context: ({ project_id = '', secret_id = '' }) => clientSecretContext(project_id, secret_id),
    // Its connections are refreshed no more until it is saved again.
    removeWhenLost: false,
  },
  {
    table: 'mcp_issuers',
    column: 'sealed_client_secret',
    key: ['project_id', 'server_id', 'secret_id'],
    where: 'sealed_client_secret is not null',
    context: ({ project_id = '', secret_id = '' }) => clientSecretContext(project_id, secret_id),
    // Another client is registered with the next sign-in.
    removeWhenLost: true,
  },
  {
    table: 'connections',
    column: 'sealed_credential',
    key: ['project_id', 'id', 'credential_id'],
    context: ({ project_id = '', credential_id = '' }) => credentialContext(project_id, credential_id),
    // It is as if it were not there: the user is asked to connect the account again.
    removeWhenLost: true,
  },
  {
    table: 'connection_revocations',
    column: 'sealed_credential',
    key: ['project_id', 'credential_id'],
    context: ({ project_id = '', credential_id = '' }) => credentialContext(project_id, credential_id),
    // Nobody can revoke it any more.
    removeWhenLost: true,
  },
  {
    table: 'connection_revocations',
    column: 'sealed_client_secret',
    key: ['project_id', 'credential_id', 'secret_id'],
    where: 'sealed_client_secret is not null',
    context: ({ project_id = '', secret_id = '' }) => clientSecretContext(project_id, secret_id),
    removeWhenLost: true,
  },
  {
    table: 'webhooks',
    column: 'sealed_secret',
    key: ['project_id', 'id'],
    context: ({ project_id = '', id = '' }) => webhookSecretContext(project_id, id, 'current'),
    // Its deliveries miss and say that it has to be rotated.
    removeWhenLost: false,
  },
  {
    table: 'webhooks',
    column: 'sealed_previous_secret',
    key: ['project_id', 'id'],
    where: 'sealed_previous_secret is not null',
    context: ({ project_id = '', id = '' }) => webhookSecretContext(project_id, id, 'previous'),
    removeWhenLost: false,
  },
  {
    table: 'webhooks',
    column: 'sealed_earlier_secrets',
    key: ['project_id', 'id'],
    where: 'sealed_earlier_secrets is not null',
    context: ({ project_id = '', id = '' }) => webhookSecretContext(project_id, id, 'earlier'),
    removeWhenLost: false,
  },
  {
    table: 'domains.webhooks',
    column: 'sealed_secret',
    key: ['workspace_id', 'id'],
    context: ({ workspace_id = '', id = '' }) => webhookSecretContext(workspace_id, id, 'current'),
    // As above.
    removeWhenLost: false,
  },
  {
    table: 'domains.webhooks',
    column: 'sealed_previous_secret',
    key: ['workspace_id', 'id'],
    where: 'sealed_previous_secret is not null',
    context: ({ workspace_id = '', id = '' }) => webhookSecretContext(workspace_id, id, 'previous'),
    removeWhenLost: false,
  },
  {
    table: 'domains.webhooks',
    column: 'sealed_earlier_secrets',
    key: ['workspace_id', 'id'],
    where: 'sealed_earlier_secrets is not null',
    context: ({ workspace_id = '', id = '' }) => webhookSecretContext(workspace_id, id, 'earlier'),
    removeWhenLost: false,
  },
  {
    table: 'domains.orders',
    column: 'sealed_auth_code',
    key: ['workspace_id', 'id'],
    where: 'sealed_auth_code is not null',
    context: ({ workspace_id = '', id = '' }) => authCodeContext(workspace_id, id),
    // The order and its hold stay: a person has to look at it.
    removeWhenLost: false,
  },
  {
    table: 'domains.payments',
    column: 'sealed_instrument',
    key: ['workspace_id', 'id'],
    where: 'sealed_instrument is not null',
    context: ({ workspace_id = '', id = '' }) => instrumentContext(workspace_id, id),
    removeWhenLost: false,
  },
];

/** Sealed too, and of no use after a day: stored answers of Idempotency-Key, and what an answer needs at its provider. */
export const passingColumns: readonly { readonly table: string; readonly column: string }[] = [
  { table: 'idempotency_keys', column: 'sealed_body' },
  { table: 'domains.idempotency_keys', column: 'sealed_body' },
  { table: 'inbound_events', column: 'sealed_reply' },
  // A link lives for ten minutes.
  { table: 'connection_links', column: 'sealed_verifier' },
  { table: 'channel_answers', column: 'sealed_reply' },
];

export interface Resealed {
  readonly sealed: number;
  /** Values under a master key that the vault does not have: left as they are. */
  readonly unreadable: number;
}

const BATCH = 200;

/** Keys of the rows whose value no master key of the vault opens. */
export async function listLost(db: Executor, vault: Vault, sealed: SealedColumn): Promise<string[][]> {
  const { table, column, key, context, where = 'true' } = sealed;
  const { rows } = await db.query<Record<string, string>>({
    text: `select ${key.join(', ')}, ${column} from ${table} where ${where} order by ${key.join(', ')}`,
    values: [],
  });
  return rows.filter((row) => !opens(vault, row[column] ?? '', context(row))).map((row) => keyOf(row, key));
}

function opens(vault: Vault, value: string, context: string): boolean {
  try {
    vault.openBytes(value, context);
    return true;
  } catch (error) {
    if (error instanceof VaultError) return false;
    throw error;
  }
}

/** Seals under the first master key whatever lies under another one. Rows are locked a batch at a time. */
export async function resealColumn(db: Database, vault: Vault, column: SealedColumn): Promise<Resealed> {
  const total = { sealed: 0, unreadable: 0 };
  let after: readonly string[] | undefined;
  do {
    const batch = await db.transaction((tx) => resealBatch(tx, vault, column, after));
    total.sealed += batch.sealed;
    total.unreadable += batch.unreadable;
    after = batch.last;
  } while (after !== undefined);
  return total;
}

/** `last` is the key to go on after; undefined at the end. */
async function resealBatch(
  tx: Transaction,
  vault: Vault,
  { table, column, key, context, where = 'true' }: SealedColumn,
  after: readonly string[] | undefined,
): Promise<Resealed & { last: readonly string[] | undefined }> {
  const keyList = key.join(', ');
  const places = key.map((_, index) => `$${index + 1}`).join(', ');
  const { rows } = await tx.query<Record<string, string>>({
    text: `select ${keyList}, ${column} from ${table} where ${where} ${after === undefined ? '' : `and (${keyList}) > (${places})`}
           order by ${keyList} limit ${BATCH} for update`,
    values: [...(after ?? [])],
  });
  const count = { sealed: 0, unreadable: 0 };
  for (const row of rows) {
    const value = row[column] ?? '';
    if (!vault.needsReseal(value)) continue;
    const sealed = reseal(vault, value, context(row));
    if (sealed === undefined) count.unreadable += 1;
    else {
      await tx.query({
        text: `update ${table} set ${column} = $${key.length + 1} where (${keyList}) = (${places})`,
        values: [...keyOf(row, key), sealed],
      });
      count.sealed += 1;
    }
  }
  const last = rows.at(-1);
  return { ...count, last: last === undefined || rows.length < BATCH ? undefined : keyOf(last, key) };
}

function reseal(vault: Vault, value: string, context: string): string | undefined {
  try {
    return vault.seal(vault.openBytes(value, context), context);
  } catch (error) {
    if (error instanceof VaultError && error.code === 'unknown_key') return undefined;
    throw error;
  }
}

function keyOf(row: SealedRow, key: readonly string[]): string[] {
  return key.map((name) => row[name] ?? '');
}
