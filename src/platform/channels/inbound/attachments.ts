/**
 * Files that came with messages, fetched before their turn begins. Their conversation stays claimed meanwhile, and is looked
 * at again when all are there or given up; what a replica that dies has not saved is fetched anew.
 */
import pLimit from 'p-limit';
import { abortAfter, createPausableTicker, sleep } from '../../../kernel/clock/timers.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { backoffMs } from '../../../kernel/retry/backoff.ts';
import { AttachmentFailure, type Channel } from '../channel.ts';
import type { ChannelFiles } from '../channel-files.ts';
import { extendClaims, type KeptAttachment, saveAttachments, type WaitingChat } from './queue-store.ts';

const FETCHES_AT_ONCE = 8;
const MAX_TRIES = 5;
const BACKOFF = { firstMs: 1_000, longestMs: 15_000, jitter: 'half' } as const;
const FETCH_TIMEOUT_MS = 300_000;
const CLAIM_MS = 20_000;
const EXTEND_EVERY_MS = 5_000;

export interface AttachmentDependencies {
  readonly db: Database;
  readonly files: ChannelFiles;
  readonly now: () => Date;
  readonly logger: { warn(fields: object, message: string): void };
}

export interface Attachments {
  /** Resolves once every attachment is kept or given up, and that is saved. Rejects where that could not be saved. */
  fetch(channel: Channel, chat: WaitingChat): Promise<void>;
  stop(): Promise<void>;
}

export function hasUnfetched({ messages }: WaitingChat): boolean {
  return messages.some(({ message }) => message.attachments.some(isOpen));
}

export function createAttachments(deps: AttachmentDependencies): Attachments {
  const { db, now, logger } = deps;
  const limit = pLimit(FETCHES_AT_ONCE);
  const claimed = new Map<string, WaitingChat>();
  const under = new Set<Promise<void>>();
  const stopping = new AbortController();
  const extending = createPausableTicker(() => {
    extendClaims(db, [...claimed.values()], new Date(now().getTime() + CLAIM_MS)).catch((error: unknown) => {
      logger.warn({ err: error }, 'conversations whose files are being fetched may be taken by another replica');
    });
  }, EXTEND_EVERY_MS);

  async function fetchAll(channel: Channel, chat: WaitingChat): Promise<void> {
    for (const { id, message } of chat.messages) {
      if (!message.attachments.some(isOpen)) continue;
      const kept = await Promise.all(
        message.attachments.map((attachment) =>
          isOpen(attachment) ? limit(() => fetchOne(deps, channel, chat, attachment, stopping.signal)) : attachment,
        ),
      );
      await saveAttachments(db, chat, id, kept);
    }
  }

  return {
    fetch(channel, chat) {
      const key = `${chat.project_id}/${chat.id}`;
      claimed.set(key, chat);
      if (!stopping.signal.aborted) extending.resume();
      const done = fetchAll(channel, chat).finally(() => {
        claimed.delete(key);
        if (claimed.size === 0) extending.pause();
        under.delete(done);
      });
      under.add(done);
      return done;
    },
    async stop() {
      extending.pause();
      stopping.abort(new Error('this server stops'));
      await Promise.allSettled(under);
    },
  };
}

function isOpen({ file, problem }: KeptAttachment): boolean {
  return file === undefined && problem === undefined;
}

async function fetchOne(
  { files, logger }: AttachmentDependencies,
  channel: Channel,
  chat: WaitingChat,
  attachment: KeptAttachment,
  stopping: AbortSignal,
): Promise<KeptAttachment> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const account = await channel.openAccount(chat.project_id, chat.deployment_id);
      if (account === undefined) return { ...attachment, problem: 'The channel that it came from is gone.' };
      const signal = AbortSignal.any([stopping, abortAfter(FETCH_TIMEOUT_MS)]);
      const told = (await channel.lookUpAttachment?.(account, attachment, signal)) ?? attachment;
      const { bytes, filename, mediaType } = told;
      if (bytes !== undefined && bytes > files.limitBytes) return { ...attachment, problem: tooLarge(files) };
      const content = await channel.openAttachment(account, told, signal);
      const owner = { projectId: chat.project_id, smithId: chat.smith_id };
      return { ...attachment, file: await files.keep(owner, { filename, mediaType: mediaType ?? '', content }) };
    } catch (error) {
      stopping.throwIfAborted();
      if (error instanceof AttachmentFailure) return { ...attachment, problem: error.message };
      if (error instanceof ApiError && error.code === 'payload_too_large') {
        return { ...attachment, problem: tooLarge(files) };
      }
      logger.warn(
        { err: error, projectId: chat.project_id, attempt },
        'a file that came with a message was not fetched',
      );
      if (attempt === MAX_TRIES) return { ...attachment, problem: 'It could not be fetched.' };
      await sleep(backoffMs(attempt, BACKOFF), stopping);
    }
  }
}

function tooLarge({ limitBytes }: ChannelFiles): string {
  return `It is too large: files may have ${Math.floor(limitBytes / 1024 ** 2)} MB, and the project's files have a limit.`;
}
