/**
 * A file of an answer: Slack names a place for it, takes it there, and shows it once that is told. The place is good for whoever
 * knows it: the bot's token does not go there.
 */
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import { type AnswerFile, type Destination, SendFailure, type SendOptions } from '../channel.ts';
import { callProvider, NoAnswer, type ProviderAnswer } from '../provider/call-provider.ts';
import { multipartBody } from '../provider/multipart.ts';
import { textAt } from '../provider/read-json.ts';
import { readPlace } from './place.ts';
import { failureOf } from './send-failure.ts';
import { isSlackUrl } from './slack-url.ts';
import type { SlackAccess, SlackApi } from './web-api.ts';

/** Answers Slack's id of the file. Throws `SendFailure`. */
export async function uploadFile(
  { api, outbound }: { readonly api: SlackApi; readonly outbound: Pick<Outbound, 'fetch'> },
  access: SlackAccess,
  to: Destination,
  file: AnswerFile,
  { openFile, signal }: SendOptions,
): Promise<string> {
  const call = async (method: string, args: Parameters<SlackApi['call']>[2]) => {
    try {
      return await api.call(access, method, args, signal);
    } catch (error) {
      throw failureOf(error, 'account');
    }
  };
  const place = await call('files.getUploadURLExternal', { filename: file.filename, length: file.bytes ?? 0 });
  const url = textAt(place, 'upload_url');
  const id = textAt(place, 'file_id');
  if (url === undefined || id === undefined || !isSlackUrl(url, access.baseUrl)) {
    throw new SendFailure('unavailable', 'Slack names no place of its own for a file.');
  }
  await bring(outbound, url, file, openFile, signal);
  const { channelId, threadTs } = readPlace(to.chat);
  await call('files.completeUploadExternal', {
    files: [{ id, title: file.filename }],
    channel_id: channelId,
    ...(threadTs === undefined ? {} : { thread_ts: threadTs }),
  });
  return id;
}

/** Nobody sees it yet: whatever goes wrong, it is brought again, to another place. */
async function bring(
  outbound: Pick<Outbound, 'fetch'>,
  url: string,
  { fileId, filename, mediaType }: AnswerFile,
  openFile: SendOptions['openFile'],
  signal: AbortSignal,
): Promise<void> {
  const fetch = outbound.fetch('public', { httpsOnly: true, maxRedirects: 0 });
  const body = multipartBody({}, { name: 'file', filename, mediaType, content: await openFile(fileId) });
  let answer: ProviderAnswer;
  try {
    answer = await callProvider(fetch, { url: new URL(url), method: 'POST', headers: {}, body, signal });
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    throw new SendFailure('unavailable', `Slack took no file: ${error.message}.`, { cause: error });
  }
  const { status, retryAfterMs } = answer;
  if (status === 429) throw new SendFailure('paused', 'Slack: too many files.', { retryAfterMs, bucket: 'account' });
  if (status >= 300) throw new SendFailure('unavailable', `Slack took no file: status ${status}.`);
}
