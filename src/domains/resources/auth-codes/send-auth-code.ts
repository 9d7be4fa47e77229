/**
 * POST /domains/{name}/auth-code. Each call makes a code, gives it to the registry and mails it to the registrant; it is
 * kept nowhere here, and neither an answer nor a log has it. Where the mail is not sent, the registry has a code that is
 * known to none, and the next call replaces it. Its time ends by itself: see src/domains/auth-codes.
 */
import { ApiError } from '../../../kernel/http/errors.ts';
import type { HttpReply } from '../../../kernel/http/operation.ts';
import { createMeter } from '../../../kernel/http/rate-limit.ts';
import { answerOnce } from '../../answer-once.ts';
import { type AuthCodeParts, type GivenCode, giveAuthCode } from '../../auth-codes/index.ts';
import { type BackgroundWork, LATE } from '../../background-work.ts';
import { CHANGE_MS, startDeadline } from '../../deadline.ts';
import type { AnswerStore } from '../../idempotency-store.ts';
import type { WorkspaceTurn } from '../../operation.ts';
import { ownDomain } from '../../portfolio/index.ts';
import { getRegistrant } from '../../registrant.ts';
import type { Registry, RegistryDomain } from '../../registry/registry.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { errorOf, notKnown, readAtRegistry } from '../settings/index.ts';
import { maskAddress } from './mask-address.ts';
import type { SentAuthCode } from './schema.ts';

export interface AuthCodeDependencies extends AuthCodeParts {
  readonly registry: Registry;
  readonly answers: AnswerStore;
  readonly background: BackgroundWork;
}

/** Messages of one domain: enough to try again, too few to fill a mailbox. */
const CALLS_PER_MINUTE = 3;

type Request = WorkspaceTurn<{ params: { name: string } }>;

/**
 * Throws `not_found`, `pending_at_registry`, `pending_operation`, `bad_request` (the domain is locked), `internal` and
 * `rate_limit_exceeded`.
 */
export function sendAuthCode(deps: AuthCodeDependencies) {
  const meter = createMeter('auth-code', CALLS_PER_MINUTE);
  return async (request: Request): Promise<HttpReply<SentAuthCode>> =>
    answerOnce(deps, request, async () => {
      const { workspaceId } = request.caller;
      const row = await ownDomain(workspaceDb(deps.db, workspaceId), request.params.name);
      await meter.take(row.id);
      const deadline = startDeadline(CHANGE_MS);
      const info = await readAtRegistry(deps.registry, row);
      requireUnlocked(info);
      const owner = await getRegistrant(workspaceDb(deps.db, workspaceId));
      const given = await deps.background.within(giveAuthCode(deps, row), deadline.leftMs);
      if (given === LATE) throw notKnown('no answer in time');
      if (given.kind === 'not_set') throw errorOf(given.outcome, info);
      if (given.kind === 'set') await mail(given);
      const status = given.kind === 'set' && given.outcome === 'completed' ? 'Completed' : 'Pending';
      return { domain: row.name, sent_to: maskAddress(owner.email), status };
    });
}

/** The code is for a transfer, which the lock prevents: the lock has to be lifted first. */
function requireUnlocked({ name, statuses }: RegistryDomain): void {
  if (!statuses.includes('clientTransferProhibited') && !statuses.includes('clientUpdateProhibited')) return;
  throw new ApiError('bad_request', {
    message: `${name} is locked against transfers. Send \`registrar_lock\`: false to PATCH /domains/${name}/settings first.`,
    details: { reason: 'registrar_lock' },
  });
}

async function mail(given: Extract<GivenCode, { kind: 'set' }>): Promise<void> {
  try {
    await given.mail();
  } catch (error) {
    throw new ApiError('internal', {
      message: 'The auth code was not mailed. Repeat the call: it makes and mails a new one.',
      cause: error,
    });
  }
}
