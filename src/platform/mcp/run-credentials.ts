/** What an open run may send to the servers that its request brought: sealed with the run, by label. */
import type { Database } from '../../kernel/db/database.ts';
import { type Vault, VaultError } from '../../kernel/vault/vault.ts';
import { tenantDb } from '../store/tenant-db.ts';
import type { ServerCredentials } from '../tools/request-servers.ts';
import type { ToolOutcome } from '../tools/tool.ts';
import type { McpFailure } from './client/failure.ts';
import { runCredentialsContext } from './secret-context.ts';

interface Run {
  readonly projectId: string;
  readonly runId: string;
}

export function sealCredentials(vault: Pick<Vault, 'seal'>, run: Run, credentials: ServerCredentials): string {
  return vault.seal(JSON.stringify([...credentials]), runCredentialsContext(run.projectId, run.runId));
}

/** None where the master key that sealed them is lost: fresh ones mend that. */
export function openCredentials(vault: Pick<Vault, 'open'>, run: Run, sealed: string): ServerCredentials {
  try {
    return new Map(JSON.parse(vault.open(sealed, runCredentialsContext(run.projectId, run.runId))));
  } catch (error) {
    if (error instanceof VaultError) return new Map();
    throw error;
  }
}

/** Headers for the server, as the run has them now: an answer to its last pause may have brought fresh ones. */
export async function findHeaders(
  { db, vault }: { readonly db: Database; readonly vault: Pick<Vault, 'open'> },
  run: Run,
  label: string,
): Promise<Readonly<Record<string, string>>> {
  const { rows } = await tenantDb(db, run.projectId).raw<{ sealed: string | null }>({
    text: 'select sealed_mcp_credentials as sealed from runs where project_id = $1 and id = $2',
    values: [run.runId],
  });
  const sealed = rows[0]?.sealed ?? null;
  return sealed === null ? {} : (openCredentials(vault, run, sealed).get(label) ?? {});
}

/** Of a credential: a shorter one may stand in any text by chance. In what a tool gives, which is data, more by chance than in errors. */
const TELLTALE_CHARS = { error: 4, result: 12 } as const;

/** Why a call or a list failed, without what was sent to the server, which it may repeat. */
export function describeWithout(headers: Readonly<Record<string, string>>, failure: McpFailure): string {
  const message =
    failure.kind === 'auth'
      ? 'the server asks for authorization that the request does not give; send it in `authorization` or `headers`'
      : failure.message;
  return cutOut(secretsOf(headers, TELLTALE_CHARS.error), message);
}

/** What the call gave, without what was sent to the server: it stands in events and in the conversation. */
export function outcomeWithout(headers: Readonly<Record<string, string>>, outcome: ToolOutcome): ToolOutcome {
  const secrets = secretsOf(headers, TELLTALE_CHARS.result);
  if (secrets.length === 0 || 'question' in outcome) return outcome;
  return cutOutOf(secrets, outcome) as ToolOutcome;
}

/** The longest first: one may be a part of another. */
function secretsOf(headers: Readonly<Record<string, string>>, minChars: number): string[] {
  return Object.values(headers)
    .flatMap((value) => [value, value.replace(/^bearer +/i, '')])
    .filter((secret) => secret.length >= minChars)
    .sort((one, other) => other.length - one.length);
}

function cutOut(secrets: readonly string[], text: string): string {
  return secrets.reduce((left, secret) => left.replaceAll(secret, '…'), text);
}

function cutOutOf(secrets: readonly string[], value: unknown): unknown {
  if (typeof value === 'string') return cutOut(secrets, value);
  if (Array.isArray(value)) return value.map((each) => cutOutOf(secrets, each));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [cutOut(secrets, name), cutOutOf(secrets, each)]),
  );
}
