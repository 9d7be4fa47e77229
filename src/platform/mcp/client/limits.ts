/** What a server may take of us, whatever it does. */
export interface McpLimits {
  /** From the first look-up until it is known how the server is spoken to. */
  readonly connectMs: number;
  /** All pages of its tools together. */
  readonly listMs: number;
  /** One call, with whatever the server sends meanwhile. */
  readonly callMs: number;
  /** Of one answer; of all pages of a list together. */
  readonly answerBytes: number;
  readonly listPages: number;
  readonly tools: number;
}

export const mcpLimits: McpLimits = {
  connectMs: 15_000,
  listMs: 30_000,
  callMs: 60_000,
  answerBytes: 8 * 1_048_576,
  listPages: 32,
  tools: 1_000,
};

/** Of a list of tools as it is kept, in bytes of JSON: as much as the schemas of all tools of one request. */
export const MAX_LIST_BYTES = 2_000_000;
