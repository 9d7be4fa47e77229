/** Token issuing and verifying over a database of its own, without a server around it. */
import { createSecretKey, randomBytes } from 'node:crypto';
import { createManualClock, type ManualClock } from '../../src/kernel/clock/clock.ts';
import type { Database } from '../../src/kernel/db/database.ts';
import { mintId } from '../../src/kernel/ids/ids.ts';
import { createVault, type Vault } from '../../src/kernel/vault/vault.ts';
import { createTokenIssuer, type TokenIssuer } from '../../src/platform/access/issue-token.ts';
import { createTokenSigner, type TokenSigner } from '../../src/platform/access/sign-token.ts';
import { createSigningKeys, type SigningKeys } from '../../src/platform/access/signing-keys.ts';
import { createTokenVerifier, type TokenVerifier } from '../../src/platform/access/verify-token.ts';
import { createOrganization, createProject } from '../../src/platform/resources/projects/index.ts';
import { tenantDb } from '../../src/platform/store/tenant-db.ts';
import { openTestDatabase } from './database.ts';

/** What one server process remembers of keys and tokens. */
export interface Replica extends TokenVerifier {
  readonly keys: SigningKeys;
  readonly signer: TokenSigner;
  readonly issuer: TokenIssuer;
}

export interface AccessBench {
  readonly db: Database;
  readonly vault: Vault;
  readonly clock: ManualClock;
  readonly issuerName: string;
  /** One more process on the same database; `store` stands in for the database where a test watches it. */
  startReplica(store?: Database): Replica;
  createOrganization(): Promise<string>;
  createProject(): Promise<string>;
  createSmith(projectId: string): Promise<string>;
  close(): Promise<void>;
}

export async function openAccessBench(): Promise<AccessBench> {
  const { db, close } = await openTestDatabase();
  const vault = createVault([createSecretKey(randomBytes(32))]);
  const clock = createManualClock(new Date('2026-05-01T12:00:00.700Z'));
  const issuerName = 'http://localhost:8787';
  const bench: AccessBench = {
    db,
    vault,
    clock,
    issuerName,
    startReplica(store = db) {
      const keys = createSigningKeys(store, vault);
      const signer = createTokenSigner(keys, issuerName);
      const { verify } = createTokenVerifier(store, keys, clock);
      return { keys, signer, issuer: createTokenIssuer({ signer, clock }), verify };
    },
    async createOrganization() {
      return (await db.transaction((tx) => createOrganization(tx, { name: 'Test' }))).id;
    },
    async createProject() {
      const organizationId = await bench.createOrganization();
      const { project } = await db.transaction((tx) => createProject(tx, { organizationId, name: 'Test' }));
      return project.id;
    },
    async createSmith(projectId) {
      const id = mintId('smt');
      await tenantDb(db, projectId).insertInto('smiths').values({ id }).execute();
      return id;
    },
    close,
  };
  return bench;
}
