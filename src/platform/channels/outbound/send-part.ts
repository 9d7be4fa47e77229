/** One part to its provider, and what its answer means for it. */
import { abortAfter } from '../../../kernel/clock/timers.ts';
import { backoffMs } from '../../../kernel/retry/backoff.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { type Channel, type Destination, type OpenAccount, SendFailure } from '../channel.ts';
import type { ChannelFiles } from '../channel-files.ts';
import { replyContext } from '../reply-secrets.ts';
import type { DuePart } from './claim-parts.ts';
import type { PartKey, SettledPart } from './outbox-store.ts';

/** Sends of one part: 13 to 27 minutes of them. */
const MAX_ATTEMPTS = 12;
const BACKOFF = { firstMs: 1_000, longestMs: 600_000, jitter: 'half' } as const;
/** Replicas that may die while they send it. */
const MAX_LOSSES = 2;
/** Tries to take a message away in whose place the answer cannot be. */
const MAX_REMOVALS = 3;
/** However often the provider has asked for patience. */
const MAX_AGE_MS = 86_400_000;
const SEND_TIMEOUT_MS = 60_000;
/** For so long a provider that cannot say whether a part has arrived is asked again, before the part is sent again. */
const LOOK_UP_MS = 600_000;
const LOOK_UP_AGAIN_MS = { min: 1_000, max: 60_000 };
const DEFAULT_PAUSE_MS = 1_000;
/** Who replaces an account may delete it first. */
const ACCOUNT_MISSING_MS = 60_000;
/** What an account is opened with, the store or a key, may be back by then. */
const UNOPENED_MS = 10_000;

export interface SendDependencies {
  readonly vault: Pick<Vault, 'open'>;
  readonly files: ChannelFiles;
  readonly logger: { warn(fields: object, message: string): void };
  readonly now: () => Date;
  /** Says that the part is being sent; whether it is still this replica's to send. */
  readonly mark: (part: PartKey) => Promise<boolean>;
}

export type PartOutcome = Pick<
  SettledPart,
  'result' | 'attempts' | 'provider_message_id' | 'error' | 'as_plain' | 'wait_ms' | 'rest_ms'
> & {
  readonly attempts: number;
  /** What the provider asked for, for the whole account. */
  readonly pauseAccountMs?: number;
};

type PartToSend = DuePart & { readonly part: NonNullable<DuePart['part']> };

/** Undefined: another replica has it. */
export async function sendPart(
  deps: SendDependencies,
  channel: Channel | undefined,
  due: PartToSend,
): Promise<PartOutcome | undefined> {
  const { kind, part, is_marked } = due;
  const { attempts, answer_id, position } = part;
  // As the row has it now, until `mark` has said more.
  const counted = attempts + (is_marked ? 1 : 0);
  if (part.state === 'sending' && part.losses >= MAX_LOSSES) {
    return { result: 'failed', attempts: counted, error: { code: 'unknown_outcome', message: LOST } };
  }
  if (part.age_ms > MAX_AGE_MS) {
    const error = { code: 'too_late', message: 'It could not be sent for a day.' };
    return { result: 'failed', attempts: counted, error };
  }
  const to = await openDestination(deps, channel, due);
  if (to === 'later') return { result: 'paused', attempts: counted, wait_ms: UNOPENED_MS };
  if (channel === undefined || to === undefined) {
    const error = { code: 'account_missing', message: `There is no account for ${kind}. Save it again.` };
    return { result: 'paused', attempts: counted, error, wait_ms: ACCOUNT_MISSING_MS };
  }
  const found = await findSent(deps, channel, to, due);
  if (found.answer === 'later') {
    const error = { code: 'unknown_outcome', message: UNANSWERED };
    return { result: 'unknown', attempts: counted, error, wait_ms: found.waitMs };
  }
  if (found.answer === 'sent') {
    return { result: 'sent', attempts: counted, provider_message_id: found.id, rest_ms: channel.pace.chatMs };
  }
  if (!is_marked && !(await deps.mark({ ...due, answer_id, position, attempts }))) return undefined;
  try {
    const id = await deliver(deps, channel, to, due);
    return { result: 'sent', attempts: attempts + 1, provider_message_id: id, rest_ms: channel.pace.chatMs };
  } catch (error) {
    return judge(deps, channel, to.account, due, error);
  }
}

/** The provider's id of the message, where it is one. */
async function deliver(
  { files }: SendDependencies,
  channel: Channel,
  to: Destination,
  { project_id, part }: PartToSend,
): Promise<string | undefined> {
  const { body, live, as_plain: asPlain } = part;
  const signal = abortAfter(SEND_TIMEOUT_MS);
  const isReplaced = live !== null && live.is_unsure !== true && body.type !== 'removal';
  if (live !== null && !isReplaced) await removeLive(channel, to, live.message, part.attempts, signal);
  if (body.type === 'removal') return undefined;
  return channel.send(to, body, {
    asPlain,
    openFile: (fileId) => files.open(project_id, fileId),
    signal,
    ...(isReplaced && { replaces: live.message }),
  });
}

/** Tried a few times: what stays at worst is a beginning of the answer, which itself is not held up for ever. */
async function removeLive(
  channel: Channel,
  to: Destination,
  message: string,
  attempts: number,
  signal: AbortSignal,
): Promise<void> {
  try {
    await channel.live?.remove(to, message, signal);
  } catch (error) {
    const failure = error instanceof SendFailure ? error : undefined;
    if (attempts >= MAX_REMOVALS || failure?.kind === 'refused' || failure?.kind === 'unreadable') return;
    if (failure?.kind === 'paused') throw failure;
    throw new SendFailure('unavailable', failure?.message ?? 'The provider gave no answer.', { cause: error });
  }
}

const UNANSWERED = 'It may have arrived, and the provider cannot say so now.';
const LOST = 'It may have arrived: each time that it was sent this server ended before there was an answer.';

/** Undefined: there is no account. `later`: it cannot be opened now, and the part says that it is being sent, which it is not. */
async function openDestination(
  { vault, logger }: SendDependencies,
  channel: Channel | undefined,
  { project_id, account_id, chat, outbox_id, part, is_marked }: PartToSend,
): Promise<Destination | undefined | 'later'> {
  const { sealed_reply: sealed, sender } = part;
  try {
    const account = await channel?.openAccount(project_id, part.deployment_id);
    if (account === undefined) return undefined;
    const reply = sealed === null ? undefined : vault.open(sealed, replyContext(project_id, account_id, chat));
    return { account, chat, sender, reply };
  } catch (error) {
    if (!is_marked) throw error;
    logger.warn({ err: error, outbox: outbox_id }, 'the account of a message could not be opened; it is tried again');
    return 'later';
  }
}

type Found =
  | { readonly answer: 'sent'; readonly id: string }
  /** Or nobody can tell. */
  | { readonly answer: 'not sent' }
  | { readonly answer: 'later'; readonly waitMs: number };

/** What the provider says of a part whose outcome was unknown, where it can. */
async function findSent(
  { logger, now }: SendDependencies,
  channel: Channel,
  to: Destination,
  { part, outbox_id }: PartToSend,
): Promise<Found> {
  const { body, sending_since } = part;
  if (sending_since === null || body.type === 'removal' || channel.findSent === undefined)
    return { answer: 'not sent' };
  const sentAfter = new Date(sending_since);
  try {
    const id = await channel.findSent(to, body, sentAfter, abortAfter(SEND_TIMEOUT_MS));
    return id === undefined ? { answer: 'not sent' } : { answer: 'sent', id };
  } catch (error) {
    logger.warn({ err: error, outbox: outbox_id }, 'whether a message has arrived could not be found out');
    const passedMs = now().getTime() - sentAfter.getTime();
    const isFinal = error instanceof SendFailure && (error.kind === 'refused' || error.kind === 'unreadable');
    if (isFinal || passedMs > LOOK_UP_MS) return { answer: 'not sent' };
    return { answer: 'later', waitMs: Math.min(Math.max(passedMs, LOOK_UP_AGAIN_MS.min), LOOK_UP_AGAIN_MS.max) };
  }
}

async function judge(
  { logger }: SendDependencies,
  channel: Channel,
  account: OpenAccount,
  { part, project_id, kind }: PartToSend,
  error: unknown,
): Promise<PartOutcome> {
  const attempts = part.attempts + 1;
  const failure = error instanceof SendFailure ? error : undefined;
  const { message, retryAfterMs = DEFAULT_PAUSE_MS } = failure ?? { message: 'The provider gave no answer.' };
  logger.warn({ err: error, projectId: project_id, channel: kind, attempts }, 'a message was not sent');
  switch (failure?.kind) {
    case 'paused': {
      const pause = { result: 'paused', attempts, wait_ms: retryAfterMs } as const;
      const isAccounts = failure.bucket === 'account';
      return isAccounts ? { ...pause, pauseAccountMs: retryAfterMs } : { ...pause, rest_ms: retryAfterMs };
    }
    case 'unreadable':
      if (!part.as_plain) return { result: 'retry', attempts, as_plain: true, wait_ms: 0 };
      return fail(channel, account, part, { code: 'send_refused', message });
    case 'refused':
      return fail(channel, account, part, { code: 'send_refused', message });
    case 'unavailable':
      return later(channel, account, part, { result: 'retry', code: 'send_failed', message });
    case 'unknown':
    case undefined:
      return later(channel, account, part, { result: 'unknown', code: 'unknown_outcome', message });
  }
}

async function later(
  channel: Channel,
  account: OpenAccount,
  part: PartToSend['part'],
  { result, ...error }: { readonly result: 'retry' | 'unknown'; readonly code: string; readonly message: string },
): Promise<PartOutcome> {
  const attempts = part.attempts + 1;
  if (attempts >= MAX_ATTEMPTS) return fail(channel, account, part, error);
  return { result, attempts, error, wait_ms: waitMs(attempts) };
}

function waitMs(attempts: number): number {
  return Math.ceil(backoffMs(attempts, BACKOFF));
}

async function fail(
  channel: Channel,
  account: OpenAccount,
  { attempts, deployment_id: deploymentId, smith_id: smithId, sender }: PartToSend['part'],
  error: { readonly code: string; readonly message: string },
): Promise<PartOutcome> {
  await channel.noteFailure(account, error, { deploymentId, smithId, sender });
  return { result: 'failed', attempts: attempts + 1, error };
}
