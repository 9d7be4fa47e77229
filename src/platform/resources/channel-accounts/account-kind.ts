import type { Static, TProperties, TSchema } from 'typebox';
import type { AccountRow, CheckedAccount, OpenAccount } from '../../channels/index.ts';
import type { MessagingKind } from '../../tables.ts';

/** What is one kind's own about its accounts. */
export interface AccountKind<B extends TSchema = TSchema> {
  readonly kind: MessagingKind;
  /** What the account is, as people write it: `Telegram bot`. */
  readonly name: string;
  readonly body: B;
  readonly example: Static<B>;
  /** Of `put`. */
  readonly description: string;
  readonly errors: readonly string[];
  /** The component of what is shown, and the members of it that are the kind's own. */
  readonly shown: { readonly name: string; readonly own: TProperties };
  /** At the provider, before anything is stored. Throws the refusal. */
  check(projectId: string, body: Static<B>): Promise<CheckedAccount>;
  /** At the provider, once the account is gone. */
  disconnect(account: OpenAccount): Promise<void>;
  /** The members of `shown.own`, of the row or of none, and where the provider brings messages. */
  show(
    row: Pick<AccountRow, 'account_id' | 'settings' | 'webhook_key_hash'> | undefined,
    projectId: string,
  ): OwnMembers;
}

export interface OwnMembers {
  readonly webhook_url: string | null;
  readonly [name: string]: unknown;
}
