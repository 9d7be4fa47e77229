/** Dynamic client registration (RFC 7591): open to everybody, so it gives no right; a client that nobody lets in is gone after a day. */
import { systemClock } from '../../kernel/clock/clock.ts';
import type { Executor } from '../../kernel/db/database.ts';
import { json } from '../../kernel/db/values.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { type ClientMetadata, readClientMetadata } from './client.ts';
import { mintCredential } from './credentials.ts';

export interface RegisteredClient {
  readonly id: string;
  readonly metadata: ClientMetadata;
  readonly createdAt: Date;
  /** Shown this once; undefined for clients without one. */
  readonly secret: string | undefined;
}

/** Throws `invalid_url` for a redirect, and `invalid_request` for all else that cannot be. */
export async function registerClient(
  tx: Executor,
  given: Readonly<Record<string, unknown>>,
): Promise<RegisteredClient> {
  const metadata = readClientMetadata(given, { name: 'Unnamed program', authMethod: 'client_secret_basic' });
  const hasSecret = metadata.token_endpoint_auth_method.startsWith('client_secret');
  const secret = hasSecret ? mintCredential('clientSecret') : undefined;
  const id = mintId('ocl');
  const { rows } = await tx.query<{ created_at: Date }>({
    text: 'insert into oauth_clients (id, metadata, secret_hash) values ($1, $2, $3) returning created_at',
    values: [id, json(metadata), secret?.hash ?? null],
  });
  return { id, metadata, createdAt: rows[0]?.created_at ?? systemClock.now(), secret: secret?.text };
}
