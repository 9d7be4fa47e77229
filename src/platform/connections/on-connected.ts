import type { TenantTransaction } from '../store/tenant-db.ts';

/** A smith has an account that it did not have, or has it anew. */
export interface Connected {
  readonly smithId: string;
  /** What calls may wait for: the connection's provider, and `mcp:<name>` of each server whose calls may use it. In one order. */
  readonly keys: readonly string[];
}

/**
 * Told inside of the transaction that stores the credential, while it holds the smith: what waits for the account goes on with
 * it, or not at all.
 */
export type OnConnected = (tx: TenantTransaction, connected: Connected) => Promise<void>;
