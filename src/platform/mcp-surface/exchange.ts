/** One JSON-RPC message, and everything that is known about who sent it. */
import type { ProjectCaller } from '../access/caller.ts';
import type { SmithForTurn } from '../engine/index.ts';
import type { McpDeployment } from './find-deployment.ts';

export interface Exchange {
  readonly deployment: McpDeployment;
  readonly caller: ProjectCaller;
  /** Undefined: none is needed, as for `initialize`. */
  readonly smith: SmithForTurn | undefined;
  /** Of the revision 2025-11-25, where the client takes part in a session. */
  readonly sessionKey: string | undefined;
  readonly message: JsonRpcMessage;
}

export interface JsonRpcMessage {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
}

/** What the protocol's libraries take: who asks for progress, and when to stop. */
export interface CallContext {
  /** The client has gone, or has cancelled. */
  readonly gone: AbortSignal;
  /** Whether that ends what the call has begun: so in 2026-07-28. */
  readonly endsWithClient: boolean;
  /** Undefined: nobody asked. */
  readonly report: ((message: string) => void) | undefined;
}
