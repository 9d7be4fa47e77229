/** A call whose stream was let go while a person is asked: what any replica needs to go on with it. */
import type { Elicitation } from './elicitation.ts';

/** What it takes to go on with a call, besides the server's address. The session's id opens it to whoever has it. */
export interface SuspendedSession {
  readonly sessionId: string;
  readonly protocolVersion: string;
  readonly callId: string | number;
  readonly questionId: string | number;
  readonly lastEventId: string;
}

/** A call that waits for a person, and that no connection holds open. */
export interface SuspendedCall {
  readonly resultType: 'suspended';
  readonly asked: Elicitation;
  readonly session: SuspendedSession;
}
