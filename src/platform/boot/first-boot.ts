/**
 * The first start on an empty database makes what a stranger needs to send the first request: an organization, a project,
 * a key of each. However many processes start at once, one of them does it.
 *
 * The credentials are written before the transaction commits. A crash in between leaves a file of credentials that no
 * database knows, which the next start puts aside; the other order would leave a database whose credentials nobody has.
 */
import type { Database, Transaction } from '../../kernel/db/database.ts';
import type { TokenIssuer } from '../access/issue-token.ts';
import { createOrganization, createProject } from '../resources/projects/index.ts';
import { systemDb, TenantTransaction } from '../store/tenant-db.ts';
import type { Actor } from '../tables.ts';
import { hasCredentials, writeCredentials } from './credentials-file.ts';

export interface FirstBootDependencies {
  readonly db: Database;
  readonly issuer: Pick<TokenIssuer, 'issueOrganizationKey' | 'issueProjectToken'>;
  readonly dataDir: string;
  /** Base URL under which a client with these credentials reaches the service. */
  readonly baseUrl: string;
}

export interface FirstBoot {
  /** True when this start made the organization. */
  readonly created: boolean;
  /** False when the database was set up before and its credentials lie elsewhere. Nothing is made then. */
  readonly hasCredentials: boolean;
  /** Where an earlier credentials file, of another database, was put aside. */
  readonly keptAs: string | undefined;
}

const NAME = 'default';
/** Any constant: the holder of this lock decides whether the database is empty. */
const FIRST_BOOT_LOCK = 4_739_201_338;

const actor: Actor = { kind: 'operator', id: 'first-boot', token_id: '', email: '' };

/** Needs the migrated tables. Rejects, having made nothing, when the credentials cannot be written. */
export async function bootFirst({ db, issuer, dataDir, baseUrl }: FirstBootDependencies): Promise<FirstBoot> {
  return db.transaction(async (tx) => {
    await tx.query({ text: 'select pg_advisory_xact_lock($1::bigint)', values: [FIRST_BOOT_LOCK] });
    if (await hasOrganization(tx)) {
      return { created: false, hasCredentials: await hasCredentials(dataDir), keptAs: undefined };
    }
    const organization = await createOrganization(tx, { name: NAME });
    const { project } = await createProject(tx, { organizationId: organization.id, name: NAME });
    const key = await issuer.issueOrganizationKey(tx, { organizationId: organization.id, name: 'first boot' });
    const token = await issuer.issueProjectToken(new TenantTransaction(tx, project.id), { name: 'first boot', actor });
    const { keptAs } = await writeCredentials(dataDir, {
      base_url: baseUrl,
      organization_key: key.token,
      project_id: project.id,
      tenant_token: token.token,
    });
    return { created: true, hasCredentials: true, keptAs };
  });
}

async function hasOrganization(tx: Transaction): Promise<boolean> {
  const row = await systemDb(tx).selectFrom('organizations').select('id').limit(1).executeTakeFirst();
  return row !== undefined;
}
