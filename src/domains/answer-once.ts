/** `Idempotency-Key` of operations that outlive any transaction. See idempotency-store.ts for the rules. */
import type { Database } from '../kernel/db/database.ts';
import { HttpReply, type IdempotencyClaim } from '../kernel/http/operation.ts';
import type { Caller } from './access/caller.ts';
import type { AnswerStore } from './idempotency-store.ts';

interface Call {
  readonly caller: Caller;
  readonly idempotency: IdempotencyClaim | undefined;
}

export interface AnswerOnceDependencies {
  readonly answers: AnswerStore;
  readonly db: Database;
}

/** Answers a repetition under the same key from the stored answer; otherwise does the work, and stores a success's answer. */
export async function answerOnce<Body extends object>(
  { answers, db }: AnswerOnceDependencies,
  { caller, idempotency }: Call,
  work: () => Promise<Body>,
  status = 200,
): Promise<HttpReply<Body>> {
  if (idempotency === undefined) return new HttpReply(status, await work());
  const kept = await answers.find(db, caller.workspaceId, idempotency);
  if (kept !== undefined) {
    // What is stored under this operation's key is what `work` once returned.
    return new HttpReply(kept.status, JSON.parse(kept.body) as Body, { 'idempotent-replay': 'true' });
  }
  const body = await work();
  await answers.keep(db, caller.workspaceId, idempotency, { status, body: JSON.stringify(body) });
  return new HttpReply(status, body);
}
