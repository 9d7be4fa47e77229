/** What a file is of which the message tells its id alone, as in channels that two companies share. */
import { AttachmentFailure, type InboundAttachment } from '../channel.ts';
import { objectAt } from '../provider/read-json.ts';
import { isFileId, readFile, readFileRef } from './attachment.ts';
import { type SlackAccess, type SlackApi, SlackProblem } from './web-api.ts';

/** `accessTo`: undefined for a workspace that the app has left. */
export async function lookUpSlackFile(
  api: SlackApi,
  accessTo: (teamId: string) => Promise<SlackAccess | undefined>,
  attachment: InboundAttachment,
  signal: AbortSignal,
): Promise<InboundAttachment> {
  const { teamId, url: fileId } = readFileRef(attachment.ref);
  if (!isFileId(fileId)) return attachment;
  const access = await accessTo(teamId);
  if (access === undefined) throw gone('the app is not installed there');
  try {
    const told = readFile(teamId, objectAt(await api.call(access, 'files.info', { file: fileId }, signal), 'file'));
    if (told !== undefined && told.ref !== attachment.ref) return told;
  } catch (error) {
    if (error instanceof SlackProblem && error.kind === 'refused') throw gone(error.message, error);
    throw error;
  }
  throw gone('it is kept elsewhere, or was taken back');
}

function gone(why: string, cause?: unknown): AttachmentFailure {
  return new AttachmentFailure(`A file cannot be had from Slack: ${why}`, cause);
}
