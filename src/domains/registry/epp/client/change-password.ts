import { mintId } from '../../../../kernel/ids/ids.ts';
import type { RegistryBalance } from '../../registry.ts';
import { readBalance } from '../commands/balance.ts';
import { findData } from '../commands/response.ts';
import { BALANCE } from '../namespaces.ts';
import { EppConnection, type EppEndpoint } from './connection.ts';

/** Logs in once to have the password changed. Throws the obstacle; an answer that was lost leaves it open which of the two holds. */
export async function changeEppPassword(endpoint: EppEndpoint, newPassword: string): Promise<void> {
  const connection = await EppConnection.open(endpoint, new AbortController().signal, newPassword);
  await connection.close();
}

/** Whether the server takes this password now, and what it then says of our account there. Throws where it cannot be reached. */
export async function tryEppLogin(endpoint: EppEndpoint): Promise<RegistryBalance | undefined> {
  const connection = await EppConnection.open(endpoint, new AbortController().signal);
  try {
    if (!connection.services.objectUris.has(BALANCE)) return undefined;
    const data = findData(await connection.exchange({ kind: 'balance:info' }, mintId('epp')), BALANCE, 'infData');
    return data === undefined ? undefined : readBalance(data);
  } finally {
    await connection.close();
  }
}
