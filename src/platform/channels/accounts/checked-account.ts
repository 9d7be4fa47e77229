import type { JsonObject } from '../../tables.ts';

/** An account that its provider knows, before it is stored. */
export interface CheckedAccount {
  /** In the words of the provider. Two projects cannot have the same. */
  readonly accountId: string;
  /** What is no secret, by name; what of it is shown, its kind says. */
  readonly settings: JsonObject;
  readonly secrets: Readonly<Record<string, string>>;
  /** SHA-256, in hex, of what the provider is to send with each call, where it does not sign. */
  readonly webhookKeyHash: string | null;
  /** What there is to do at the provider once the account is stored: it may call at once. Throws the refusal. */
  register?(): Promise<void>;
}
