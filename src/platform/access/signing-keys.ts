/**
 * The RS256 keys behind every token. The newest signs, all that are not retired verify, so a rotation breaks no live
 * token. Private keys rest sealed in the store; every replica reads the same rows.
 */
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import { elapsedMs } from '../../kernel/clock/timers.ts';
import type { Database, Executor, Transaction } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { Vault } from '../../kernel/vault/vault.ts';

const ALGORITHM = 'RS256';
/** How long a replica may sign with a key that another has superseded. */
const SIGNER_TTL_MS = 60_000;

export interface SigningKeys {
  /** The key that signs, made in this transaction when there is none. Throws `minting_unavailable` if it cannot be read. */
  signer(tx: Transaction): Promise<SigningKey>;
  /** The key that verifies, or undefined when no live key has this id. */
  verifier(kid: string): Promise<CryptoKey | undefined>;
  /** The public set, for `/.well-known/jwks.json`. */
  publicKeys(): Promise<PublicJwk[]>;
}

export interface SigningKey {
  readonly kid: string;
  readonly key: CryptoKey;
}

/** RFC 7518 section 6.3.1. */
export interface PublicJwk {
  readonly kty: string;
  readonly kid: string;
  readonly alg: string;
  readonly use: string;
  readonly n: string;
  readonly e: string;
}

interface KeyRow {
  kid: string;
  public_jwk: PublicJwk;
  sealed_private_jwk: string;
}

export function createSigningKeys(db: Database, vault: Vault): SigningKeys {
  const verifiers = new Map<string, CryptoKey>();
  let current: (SigningKey & { until: number }) | undefined;
  return {
    async signer(tx) {
      if (current !== undefined && current.until > elapsedMs()) return current;
      const row = (await listKeys(tx))[0] ?? (await addSigningKey(tx, vault));
      const signer = { kid: row.kid, key: await openPrivateKey(row, vault) };
      // Not before: a key that this transaction made is gone if it rolls back.
      tx.afterCommit(() => {
        current = { ...signer, until: elapsedMs() + SIGNER_TTL_MS };
      });
      return signer;
    },
    async verifier(kid) {
      const known = verifiers.get(kid);
      if (known !== undefined) return known;
      for (const row of await listKeys(db)) {
        verifiers.set(row.kid, (await importJWK(row.public_jwk, ALGORITHM)) as CryptoKey);
      }
      return verifiers.get(kid);
    },
    async publicKeys() {
      return (await listKeys(db)).map((row) => row.public_jwk);
    },
  };
}

export interface SigningPair {
  readonly publicKey: CryptoKey;
  readonly privateKey: CryptoKey;
}

/** Takes a tenth of a second of a processor. */
export function makeSigningPair(): Promise<SigningPair> {
  return generateKeyPair(ALGORITHM, { extractable: true, modulusLength: 2048 });
}

/** Makes a new key the signing one. Earlier keys go on verifying. */
export async function addSigningKey(db: Executor, vault: Vault, made?: SigningPair): Promise<KeyRow> {
  const pair = made ?? (await makeSigningPair());
  const { kty, n, e } = await exportJWK(pair.publicKey);
  if (kty === undefined || n === undefined || e === undefined) throw new Error('the new RSA key has no public half');
  const kid = await calculateJwkThumbprint({ kty, n, e });
  const row: KeyRow = {
    kid,
    public_jwk: { kty, kid, alg: ALGORITHM, use: 'sig', n, e },
    sealed_private_jwk: vault.seal(JSON.stringify(await exportJWK(pair.privateKey)), sealContext(kid)),
  };
  await db.query({
    text: 'insert into signing_keys (kid, public_jwk, sealed_private_jwk) values ($1, $2, $3)',
    values: [row.kid, JSON.stringify(row.public_jwk), row.sealed_private_jwk],
  });
  return row;
}

async function openPrivateKey(row: KeyRow, vault: Vault): Promise<CryptoKey> {
  try {
    const jwk = JSON.parse(vault.open(row.sealed_private_jwk, sealContext(row.kid))) as JWK;
    return (await importJWK(jwk, ALGORITHM)) as CryptoKey;
  } catch (cause) {
    throw new ApiError('minting_unavailable', { cause });
  }
}

async function listKeys(db: Executor): Promise<KeyRow[]> {
  const { rows } = await db.query<KeyRow>({
    text: 'select kid, public_jwk, sealed_private_jwk from signing_keys where retired_at is null order by created_at desc, kid',
    values: [],
  });
  return rows;
}

function sealContext(kid: string): string {
  return `signing_keys/${kid}`;
}
