import { EppConnection, type EppEndpoint } from './connection.ts';

/** Logs in once to have the password changed. Throws the obstacle; an answer that was lost leaves it open which of the two holds. */
export async function changeEppPassword(endpoint: EppEndpoint, newPassword: string): Promise<void> {
  const connection = await EppConnection.open(endpoint, new AbortController().signal, newPassword);
  await connection.close();
}

/** Whether the server takes this password now. Throws where it cannot be reached. */
export async function tryEppLogin(endpoint: EppEndpoint): Promise<void> {
  const connection = await EppConnection.open(endpoint, new AbortController().signal);
  await connection.close();
}
