/** Accounts that users have connected to servers of the kind `oauth`. */
export interface SignIn {
  /** What the smith's user lets be sent to the server; undefined: no account is connected. */
  findAccessToken(owner: {
    readonly projectId: string;
    readonly smithId: string;
    readonly serverId: string;
  }): Promise<string | undefined>;
}

/** No account can be connected. */
export const noSignIn: SignIn = { findAccessToken: async () => undefined };
