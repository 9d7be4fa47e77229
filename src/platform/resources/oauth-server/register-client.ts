import type { Transaction } from '../../../kernel/db/database.ts';
import { HttpReply } from '../../../kernel/http/operation.ts';
import { registerClient as register } from '../../authorization-server/index.ts';
import type { ClientIn, ClientOut } from './schema.ts';

export async function registerClient({ tx, body }: { readonly tx: Transaction; readonly body: ClientIn }) {
  const { id, metadata, createdAt, secret } = await register(tx, body);
  const client: ClientOut = {
    ...metadata,
    client_id: id,
    client_id_issued_at: Math.floor(createdAt.getTime() / 1_000),
    ...(secret === undefined ? {} : { client_secret: secret, client_secret_expires_at: 0 }),
    redirect_uris: [...metadata.redirect_uris],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  };
  return new HttpReply(201, client, { 'cache-control': 'no-store' });
}
