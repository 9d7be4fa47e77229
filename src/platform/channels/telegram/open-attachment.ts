import type { Readable } from 'node:stream';
import { openBody } from '../../../kernel/outbound/outbound.ts';
import { AttachmentFailure, type InboundAttachment, type OpenAccount } from '../channel.ts';
import { type BotApi, readProblem } from './bot-api.ts';

/** Throws `AttachmentFailure` for what Telegram does not hand out: files beyond 20 MB, and old ones. */
export async function openAttachment(
  botApi: BotApi,
  account: OpenAccount,
  { ref }: InboundAttachment,
  signal: AbortSignal,
): Promise<Readable> {
  const path = await findPath(botApi, account, ref, signal);
  const response = await botApi.fetchFile(account, path, signal).catch((error: unknown) => {
    // Whatever it holds, it holds the URL.
    throw new Error(readProblem(error).message);
  });
  if (response.ok && response.body !== null) return openBody(response.body);
  await response.body?.cancel();
  if (response.status === 404) throw new AttachmentFailure('Telegram no longer has the file.');
  throw new Error(`Telegram answers ${response.status} for a file`);
}

async function findPath(botApi: BotApi, account: OpenAccount, ref: string, signal: AbortSignal): Promise<string> {
  const api = await botApi.of(account);
  const file = await api.getFile(ref, signal as never).catch((error: unknown) => {
    const { code, message } = readProblem(error);
    if (code === 400) throw new AttachmentFailure(`Telegram does not give the file: ${message}.`);
    throw new Error(message);
  });
  const { file_path: path = '' } = file;
  // A Bot API server of one's own may name a place on its disk.
  if (path === '' || path.startsWith('/') || path.split('/').includes('..')) {
    throw new AttachmentFailure('Telegram names no place from which the file can be had.');
  }
  return path.split('/').map(encodeURIComponent).join('/');
}
