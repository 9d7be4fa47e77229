/** A part of an answer as the body of a message. */
import type { JsonObject } from '../../tables.ts';
import type { MessagePart, SendOptions } from '../channel.ts';
import type { MultipartBody } from '../provider/call-provider.ts';
import { fitTitle } from '../provider/fit-title.ts';
import { multipartBody } from '../provider/multipart.ts';
import { REPLY_PREFIX } from './read-interaction.ts';

const MAX_LABEL_CHARS = 80;
const MAX_CUSTOM_ID_CHARS = 100;

/** What an answer says cannot call anybody. */
export const NOBODY = { allowed_mentions: { parse: [] } };

export async function messageBody(part: MessagePart, { openFile }: SendOptions, more: JsonObject = {}) {
  const payload = { ...NOBODY, ...more };
  if (part.type === 'text') return { ...payload, content: part.text, ...componentsOf(part.replies ?? []) };
  return fileBody(part.file, await openFile(part.file.fileId), payload);
}

function fileBody(
  { filename, mediaType }: Extract<MessagePart, { type: 'file' }>['file'],
  content: Awaited<ReturnType<SendOptions['openFile']>>,
  payload: JsonObject,
): MultipartBody {
  const described = { ...payload, attachments: [{ id: 0, filename }] };
  return multipartBody({ payload_json: JSON.stringify(described) }, { name: 'files[0]', filename, mediaType, content });
}

const ACTION_ROW = 1;
const BUTTON = 2;
const SECONDARY = 2;

/** Two of the same id are refused. */
function componentsOf(replies: readonly string[]): JsonObject {
  const byId = new Map(replies.map((reply) => [`${REPLY_PREFIX}${reply}`.slice(0, MAX_CUSTOM_ID_CHARS), reply]));
  if (byId.size === 0) return {};
  const components = [...byId].map(([custom_id, reply]) => ({
    type: BUTTON,
    style: SECONDARY,
    label: fitTitle(reply, MAX_LABEL_CHARS),
    custom_id,
  }));
  return { components: [{ type: ACTION_ROW, components }] };
}
