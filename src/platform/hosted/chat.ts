/** A message to a hosted page: who may send it, whom it reaches, and the turn that it begins, once for each key. */
import type { Database } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { Vault } from '../../kernel/vault/vault.ts';
import { cancelTurn, type Engine, type RunRow, type TurnRequest } from '../engine/index.ts';
import { tenantDb } from '../store/tenant-db.ts';
import {
  type BegunSegment,
  claimKey,
  createTurnLine,
  findBegun,
  type SmithPlace,
  startTurn,
  UNCHANGED_SETTINGS,
} from '../surfaces/index.ts';
import { admitVisitor } from './admit-visitor.ts';
import { findPage, type HostedPage } from './find-page.ts';
import { createPageBounds } from './page-bounds.ts';
import { findSmithOfRun, saveThread } from './visitor-store.ts';

export interface VisitorMessage {
  readonly visitorId: string;
  readonly message: string;
  /** Undefined: begins a conversation. */
  readonly threadId: string | undefined;
  readonly password: string | undefined;
  /** Where it comes from. */
  readonly address: string;
  /** `Idempotency-Key`. */
  readonly key: string | undefined;
  /** The answer is read as it comes. */
  readonly streams: boolean;
}

export interface HostedChat {
  /**
   * The run that answers; undefined where none can begin and its visitor is not to know why. Throws `not_found`,
   * `invalid_state`, `password_required`, `rate_limit_exceeded`, `conversation_locked`, `idempotency_key_reused` and
   * `invalid_input`.
   */
  send(pageId: string, message: VisitorMessage, signal: AbortSignal): Promise<RunRow | undefined>;
  /** Ends a run of the visitor's. Throws `not_found`, `password_required` and `rate_limit_exceeded`. */
  stop(
    pageId: string,
    visitor: Pick<VisitorMessage, 'visitorId' | 'password' | 'address'> & { readonly runId: string },
  ): Promise<void>;
  turnRested(place: SmithPlace): void;
}

export interface HostedChatDependencies {
  readonly db: Database;
  readonly engine: Engine;
  readonly vault: Vault;
  readonly logger: Logger;
  /** How long a message waits for a smith that is busy; a default when absent. */
  readonly waitMs?: number | undefined;
}

const CHANNEL = 'web';

export function createHostedChat({ db, engine, vault, logger, waitMs }: HostedChatDependencies): HostedChat {
  const bounds = createPageBounds(vault);
  const line = createTurnLine(waitMs);

  async function begin(page: HostedPage, from: VisitorMessage, signal: AbortSignal): Promise<BegunSegment> {
    const { visitorId, message, threadId } = from;
    const claim =
      from.key === undefined
        ? undefined
        : claimKey(`hosted.chat ${page.id} ${visitorId}`, from.key, { message, thread_id: threadId ?? null });
    const before = await findBegun(db, page.projectId, claim);
    if (before !== undefined) return before;
    if (page.status !== 'active') throw outOfService();
    await bounds.countMessage(page, from.address);
    const smithId = await admitVisitor(db, page, { visitorId, threadId });
    const place = { projectId: page.projectId, smithId };
    const request: TurnRequest = {
      ...place,
      ...(threadId === undefined ? {} : { threadId }),
      input: [{ role: 'user', content: message }],
      settings: UNCHANGED_SETTINGS,
      channel: CHANNEL,
      metadata: { deployment_id: page.id, visitor_id: visitorId },
      actor: { kind: 'smith', id: smithId, token_id: '', email: '' },
      reader: null,
      idempotency: claim,
      buffered: !from.streams,
      // What one visitor said is not the next one's to ask for.
      withoutMemory: 'smithId' in page.target,
    };
    return line.startInLine(place, () => startTurn(engine, request), signal);
  }

  return {
    async send(pageId, from, signal) {
      const page = await findPage(db, pageId);
      await bounds.checkPassword(page, from.address, from.password);
      let run: RunRow;
      try {
        ({ run } = (await begin(page, from, signal)).segment);
      } catch (error) {
        if (!isKeptFromVisitors(error)) throw error;
        logger.warn({ err: error, deploymentId: page.id, projectId: page.projectId }, 'a hosted page gives no answer');
        return undefined;
      }
      const { smith_id: smithId, thread_id } = run;
      const thread = { pageId: page.id, visitorId: from.visitorId, smithId, threadId: thread_id };
      await saveThread(tenantDb(db, page.projectId), thread);
      return run;
    },
    async stop(pageId, { visitorId, runId, address, password }) {
      const page = await findPage(db, pageId);
      await bounds.checkPassword(page, address, password);
      const run = { pageId: page.id, visitorId, runId };
      const smithId = await findSmithOfRun(tenantDb(db, page.projectId), run);
      if (smithId === undefined) throw new ApiError('not_found', { param: 'run_id' });
      await cancelTurn(engine, { projectId: page.projectId, smithId, runId });
    },
    turnRested: line.turnRested,
  };
}

/** What visitors can do something about, or have to wait for. Everything else is between the tenant and its models. */
const TOLD: ReadonlySet<string> = new Set([
  'conversation_locked',
  'idempotency_key_reused',
  'invalid_input',
  'invalid_state',
  'rate_limit_exceeded',
  'service_overloaded',
]);

function isKeptFromVisitors(error: unknown): boolean {
  if (!(error instanceof ApiError) || TOLD.has(error.code)) return false;
  return error.code !== 'not_found' || error.detail.param !== 'thread_id';
}

function outOfService(): ApiError {
  return new ApiError('invalid_state', { message: 'This page is out of service: nobody is reached here any more.' });
}
