/** What schedules are made of, checked before they are saved: the times, the messages and the thread. */
import { ApiError } from '../../../kernel/http/errors.ts';
import { isId } from '../../../kernel/ids/ids.ts';
import type { ProjectCaller } from '../../access/caller.ts';
import { checkThreadId, parseInput } from '../../engine/index.ts';
import { findNextFire, isTimeZone } from '../../schedules/index.ts';
import type { TenantDb } from '../../store/tenant-db.ts';
import { findConversation } from '../conversations/index.ts';
import { findReadable } from '../files/index.ts';
import type { ScheduleIn } from './schema.ts';

type Input = NonNullable<ScheduleIn['input']>;

/** Each is looked up by itself. */
const MAX_FILES = 100;

/** The first time after `after`. Throws `invalid_timezone` and `invalid_cron`. */
export function requireNextFire(cron: string, timezone: string, after: Date): Date {
  if (!isTimeZone(timezone)) throw new ApiError('invalid_timezone', { param: 'timezone' });
  const next = findNextFire(cron, timezone, after);
  if (next === undefined) throw new ApiError('invalid_cron', { param: 'cron' });
  return next;
}

/**
 * As the input of a run, but that there may be none; files are those that the caller could get for this smith. Throws
 * `invalid_input` and `too_many_inputs`.
 */
export async function checkInput(db: TenantDb, caller: ProjectCaller, smithId: string, input: Input): Promise<void> {
  if (input.length === 0) return;
  const files = listFiles(parseInput(input));
  if (files.length > MAX_FILES) {
    throw new ApiError('too_many_inputs', {
      param: 'input',
      message: `There are ${files.length} files and images, at most ${MAX_FILES} fit into a schedule.`,
    });
  }
  for (const { id, param } of files) {
    if ((await findReadable(db, { smithId, caller }, id)) !== undefined) continue;
    throw new ApiError('invalid_input', { param, message: `There is no file ${id} for this smith.` });
  }
}

/** A thread that is a conversation's takes what getting it takes. Throws `invalid_request` and `conversation_not_found`. */
export async function checkThread(
  db: TenantDb,
  caller: ProjectCaller,
  smithId: string,
  threadId: string,
): Promise<void> {
  checkThreadId(threadId);
  if (!isId('cnv', threadId)) return;
  if ((await findConversation(db, caller, threadId, smithId)) !== undefined) return;
  throw new ApiError('conversation_not_found', { param: 'thread_id' });
}

interface NamedFile {
  readonly id: string;
  /** `input.0.content.1` */
  readonly param: string;
}

function listFiles(messages: ReturnType<typeof parseInput>): NamedFile[] {
  return messages.flatMap(({ content }, message) => {
    const parts = typeof content === 'string' ? [] : content;
    return parts.flatMap((part, at): NamedFile[] => {
      const data = 'data' in part ? (part.data as { readonly type?: string; readonly file_id?: string }) : {};
      if (data.type !== 'stored' || data.file_id === undefined) return [];
      return [{ id: data.file_id, param: `input.${message}.content.${at}` }];
    });
  });
}
