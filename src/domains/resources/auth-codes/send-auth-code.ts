/**
 * POST /domains/{name}/auth-code. Each call makes a code, gives it to the registry and mails it to the registrant; it is
 * kept nowhere here, and neither an answer nor a log has it. Where the mail is not sent, the registry has a code that is
 * known to none, and the next call replaces it.
 */
import { toUnicode } from 'tr46';
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { HttpReply } from '../../../kernel/http/operation.ts';
import { createMeter } from '../../../kernel/http/rate-limit.ts';
import { answerOnce } from '../../answer-once.ts';
import type { BackgroundWork } from '../../background-work.ts';
import { CHANGE_MS, startDeadline } from '../../deadline.ts';
import type { AnswerStore } from '../../idempotency-store.ts';
import type { Mailer, Message } from '../../mail/index.ts';
import type { WorkspaceTurn } from '../../operation.ts';
import { ownDomain } from '../../portfolio/index.ts';
import { getRegistrant } from '../../registrant.ts';
import type { Registry, RegistryDomain } from '../../registry/registry.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { readAtRegistry, updateAtRegistry } from '../settings/index.ts';
import { makeAuthCode } from './make-auth-code.ts';
import { maskAddress } from './mask-address.ts';
import type { SentAuthCode } from './schema.ts';

export interface AuthCodeDependencies {
  readonly db: Database;
  readonly registry: Registry;
  readonly mailer: Mailer;
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
      const authCode = makeAuthCode();
      const outcome = await updateAtRegistry(deps, info, { authCode }, deadline);
      await mail(deps.mailer, compose(owner, row.name, authCode));
      const status = outcome === 'pending' ? 'Pending' : 'Completed';
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

async function mail(mailer: Mailer, message: Message): Promise<void> {
  try {
    await mailer.send(message);
  } catch (error) {
    throw new ApiError('internal', {
      message: 'The auth code was not mailed. Repeat the call: it makes and mails a new one.',
      cause: error,
    });
  }
}

function compose(owner: { name: string; email: string }, name: string, authCode: string): Message {
  const { domain: unicode } = toUnicode(name);
  const shown = unicode === name ? name : `${unicode} (${name})`;
  const text = `Hello ${owner.name},

you, or a program with a token of your workspace, asked for the auth code of ${shown}:

${authCode}

It allows a transfer of the domain to another registrar: pass it on to nobody else. It replaces earlier
codes, and the next one that is asked for replaces it.

If you did not expect this message, turn the registrar lock of the domain on and revoke the token.
`;
  return { to: owner.email, subject: `Auth code of ${unicode}`, text };
}
