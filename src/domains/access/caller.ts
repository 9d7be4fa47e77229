/** Who calls: one workspace, through one of its tokens. */
export interface Caller {
  readonly workspaceId: string;
  readonly tokenId: string;
  readonly scope: TokenScope;
}

/** `write` allows what `read` does, and changes. */
export type TokenScope = 'read' | 'write';
