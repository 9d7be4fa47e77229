/**
 * Starting a turn and answering a paused one: whoever asks, once for each idempotency key. A surface looks for what its
 * key has begun before it does anything else (`findBegun`), then starts or resumes.
 */
import type { Executor } from '../../kernel/db/database.ts';
import {
  type ClaimedTurn,
  createTurn,
  type Engine,
  findClaimedTurn,
  type LiveTurn,
  type Submission,
  submitToTurn,
  type TurnClaim,
  type TurnRequest,
} from '../engine/index.ts';
import type { Actor, JsonObject } from '../tables.ts';
import type { ServerCredentials } from '../tools/request-servers.ts';
import { newestSegment, requireSegment, type Segment } from './segment.ts';

export interface BegunSegment {
  readonly segment: Segment;
  /** The execution, where this replica has just begun it. */
  readonly live: LiveTurn | undefined;
  /** Set where an earlier request with the same key has begun it. */
  readonly claimed: ClaimedTurn | undefined;
}

/** What answers a pause. */
export interface PauseAnswer {
  readonly submissions: readonly Submission[];
  readonly actor: Actor;
  readonly idempotency?: TurnClaim | undefined;
  /** What the surface will want to show again. */
  readonly request?: JsonObject | undefined;
  /** Of MCP servers that the run's own request brought: in place of those before. */
  readonly credentials?: ServerCredentials | undefined;
  /** The caller waits for the end and reads nothing before it. */
  readonly buffered?: boolean;
}

/** Undefined: the key is free, or there is none. Throws `idempotency_key_reused` where it came with another request. */
export async function findBegun(
  db: Executor,
  projectId: string,
  idempotency: TurnClaim | undefined,
): Promise<BegunSegment | undefined> {
  const claimed = await findClaimedTurn(db, projectId, idempotency);
  return claimed === undefined ? undefined : begunBefore(claimed);
}

/** Throws what `createTurn` does. */
export async function startTurn(engine: Engine, request: TurnRequest): Promise<BegunSegment> {
  const created = await createTurn(engine, request);
  if (created.kind === 'duplicate') return begunBefore(created.claimed);
  return { segment: newestSegment(created.run), live: created.live, claimed: undefined };
}

/** Throws what `submitToTurn` does. */
export async function resumeTurn(
  engine: Engine,
  run: { readonly projectId: string; readonly smithId: string; readonly runId: string },
  { submissions, actor, ...rest }: PauseAnswer,
): Promise<BegunSegment> {
  const submitted = await submitToTurn(engine, run, submissions, actor, rest);
  if (submitted.kind === 'duplicate') return begunBefore(submitted.claimed);
  return { segment: newestSegment(submitted.run), live: submitted.live, claimed: undefined };
}

function begunBefore(claimed: ClaimedTurn): BegunSegment {
  return { segment: requireSegment(claimed.run, claimed.segment), live: undefined, claimed };
}
