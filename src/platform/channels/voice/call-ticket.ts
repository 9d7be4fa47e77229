/** What the relay's connection needs to know of a call, which Twilio carries there from the webhook's answer. */
import { type Vault, VaultError } from '../../../kernel/vault/vault.ts';

/** From the webhook's answer to the connection. */
const GOOD_FOR_MS = 5 * 60_000;

export interface CallTicket {
  readonly callSid: string;
  readonly accountId: string;
  readonly deploymentId: string;
  readonly smithId: string;
  /** One a call. */
  readonly threadId: string;
  readonly from: string;
  readonly to: string;
}

export function sealTicket(vault: Pick<Vault, 'seal'>, projectId: string, ticket: CallTicket, now: Date): string {
  const expiresMs = now.getTime() + GOOD_FOR_MS;
  return vault.seal(JSON.stringify({ ...ticket, expiresMs }), contextOf(projectId));
}

/** Undefined for what is none, is another project's, or is over. */
export function openTicket(
  vault: Pick<Vault, 'open'>,
  projectId: string,
  sealed: string,
  now: Date,
): CallTicket | undefined {
  try {
    const { expiresMs, ...ticket } = JSON.parse(vault.open(sealed, contextOf(projectId)));
    return expiresMs > now.getTime() ? ticket : undefined;
  } catch (error) {
    if (error instanceof VaultError) return undefined;
    throw error;
  }
}

function contextOf(projectId: string): string {
  return `voice-calls/${projectId}`;
}
