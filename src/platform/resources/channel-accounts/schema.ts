/** What accounts of every kind have in common. */
import type { TProperties } from 'typebox';
import { component, nullable, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

const MAX_URL_CHARS = 2_048;

const AccountError = component(
  'ChannelAccountError',
  Type.Object({ code: Type.String(), message: Type.String(), at: timestamp() }),
);

/** An account as it is shown. What is its kind's own stands beside. */
export interface ShownAccount {
  readonly configured: boolean;
  readonly secret_keys: readonly string[];
  readonly webhook_url: string | null;
  readonly last_error: { readonly code: string; readonly message: string; readonly at: string } | null;
  readonly created_at: string | null;
  readonly updated_at: string | null;
}

/** `own`: the members that are the kind's own, by name. */
export function shownAccount(name: string, own: TProperties) {
  const shown = Type.Object({
    configured: Type.Boolean({ description: 'False: the project has no account of this kind; the rest is empty.' }),
    ...own,
    secret_keys: Type.Array(Type.String(), { description: 'Names of the secrets that are kept.' }),
    webhook_url: nullable(Type.String(), {
      description:
        'Where the provider brings messages. Null where it does not: they are fetched, or nothing is set up.',
    }),
    last_error: nullable(AccountError, { description: 'What the provider refused last, since the account was saved.' }),
    created_at: nullable(timestamp()),
    updated_at: nullable(timestamp()),
  });
  return component(name, Type.Unsafe<ShownAccount>(shown));
}

/** Where the provider's API is, in place of its usual address. */
export function apiBaseUrl(usual: string) {
  return Type.Optional(
    nullable(Type.String({ minLength: 1, maxLength: MAX_URL_CHARS }), {
      description:
        `Where the API is called, in place of \`${usual}\`. A public https address, or one that the operator of the ` +
        'server has opened.',
    }),
  );
}
