/** Accounts that users have connected to servers of the kind `oauth`. */
import type { Executor } from '../../kernel/db/database.ts';

export interface SignIn {
  /**
   * What the smith's user lets be sent to the server. `refused`: what the server said to what it was sent before.
   */
  findAccess(owner: AccountOwner, refused?: RefusedAccess): Promise<AccountAccess>;
  /**
   * Where the smith's user connects an account. Asks the server and its issuer, and makes a link at each call. Undefined: the
   * account that was refused has all that it could be asked for, or its user was asked a moment ago and did not give it.
   */
  linkFor(owner: AccountOwner, looked: NoAccess, refused?: RefusedAccess): Promise<AccountLink | undefined>;
  /** A token of anybody in the project: to ask the server what tools it has. Undefined: nobody has connected an account. */
  findAnyAccess(owner: Omit<AccountOwner, 'smithId'>): Promise<string | undefined>;
}

export interface AccountOwner {
  readonly projectId: string;
  readonly smithId: string;
  readonly serverId: string;
  readonly signal: AbortSignal;
}

/** A refusal of the server, by its `WWW-Authenticate`. */
export interface RefusedAccess {
  /** Of the access that it refused. */
  readonly credentialId: string;
  /** The account may not do this: another token of it would be refused too. */
  readonly isForScope: boolean;
  readonly scope?: string;
  readonly resourceMetadataUrl?: URL;
}

export type AccountAccess =
  | { readonly kind: 'token'; readonly token: string; readonly credentialId: string }
  /** One is connected, and cannot be used just now. */
  | { readonly kind: 'unavailable'; readonly reason: string }
  | NoAccess;

/** No account is connected that would do. */
export interface NoAccess {
  readonly kind: 'none';
  /** What was found, and would not do. */
  readonly credentialId: string | undefined;
}

export interface AccountLink {
  /** Of the connection that comes of it: `mcp:<server>`. */
  readonly key: string;
  readonly provider: string;
  /** Works once, for ten minutes; null: there is no place where an account could be connected. */
  readonly url: string | null;
  /** Whether another account is connected since it was looked for one. */
  readonly hasChanged: (db: Executor) => Promise<boolean>;
}
