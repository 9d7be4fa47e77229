import type { JsonObject } from '../../tables.ts';

/** What answers something that a paused run waits for. */
export type Submission =
  | { readonly kind: 'tool_result'; readonly toolCallId: string; readonly result: JsonObject | string }
  | {
      readonly kind: 'approval';
      readonly approvalId: string | undefined;
      readonly toolCallId: string | undefined;
      readonly decision: 'approve' | 'reject';
      readonly content: JsonObject | null;
      /** Who decided, in the caller's words. */
      readonly decidedBy: string | null;
      readonly reason: string | null;
    };
