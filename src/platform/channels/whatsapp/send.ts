/** One message to a person on WhatsApp. */
import type { JsonObject } from '../../tables.ts';
import { type Destination, type MessagePart, SendFailure, type SendOptions } from '../channel.ts';
import { NoAnswer, type ProviderAnswer } from '../provider/call-provider.ts';
import { fitTitle } from '../provider/fit-title.ts';
import { multipartBody } from '../provider/multipart.ts';
import { objectsAt, textAt } from '../provider/read-json.ts';
import { accessOf } from './access.ts';
import { recipientOf } from './address.ts';
import { type Graph, type GraphRequest, readRefusal } from './graph.ts';
import { describeMedia } from './media-types.ts';

/** Of a button. */
const MAX_TITLE_CHARS = 20;
const TOO_MANY_MS = 60_000;
/** One person is sent one message in six seconds, beyond a few. */
const TOO_MANY_FOR_ONE_MS = 6_000;
/** Graph's codes: of the app, the account and the number; and of one person. */
const ACCOUNT_LIMITS = new Set([4, 80007, 130429, 131048]);
const PERSON_LIMIT = 131056;
/** Of a moment: Meta says to try again. */
const PASSING = new Set([1, 2, 131000, 131016, 131057, 133004]);

/** Answers Meta's id of the message. Throws `SendFailure`. */
export async function sendWhatsApp(
  graph: Graph,
  to: Destination,
  part: MessagePart,
  options: SendOptions,
): Promise<string | undefined> {
  const content = part.type === 'text' ? textContent(part, options) : await fileContent(graph, to, part, options);
  const sent = await callGraph(graph, to, messageRequest(to, content), options.signal);
  const [message] = objectsAt(sent.body, 'messages');
  const id = textAt(message, 'id');
  if (id === undefined) throw new SendFailure('unknown', 'Meta acknowledged the message without an id.');
  return id;
}

/** Marks the message as read, and shows that somebody writes: for 25 seconds, or until the answer. */
export async function showWhatsAppTyping(graph: Graph, to: Destination, signal: AbortSignal): Promise<void> {
  if (to.reply === undefined) return;
  await graph.call(
    accessOf(to.account),
    {
      method: 'POST',
      path: `${to.account.accountId}/messages`,
      body: {
        messaging_product: 'whatsapp',
        status: 'read',
        message_id: to.reply,
        typing_indicator: { type: 'text' },
      },
    },
    signal,
  );
}

function messageRequest(to: Destination, content: JsonObject): GraphRequest {
  return {
    method: 'POST',
    path: `${to.account.accountId}/messages`,
    body: { messaging_product: 'whatsapp', recipient_type: 'individual', ...recipientOf(to.chat), ...content },
  };
}

function textContent(
  { text, plain, replies = [] }: Extract<MessagePart, { type: 'text' }>,
  { asPlain }: SendOptions,
): JsonObject {
  const body = asPlain ? plain : text;
  const buttons = makeButtons(replies);
  if (buttons.length === 0) return { type: 'text', text: { body, preview_url: false } };
  return { type: 'interactive', interactive: { type: 'button', body: { text: body }, action: { buttons } } };
}

/** Two of the same title are refused. */
function makeButtons(replies: readonly string[]): readonly JsonObject[] {
  const byTitle = new Map(replies.map((reply) => [fitTitle(reply, MAX_TITLE_CHARS), reply]));
  return [...byTitle].map(([title, id]) => ({ type: 'reply', reply: { id, title } }));
}

/** Uploaded first: a message names it by its id. */
async function fileContent(
  graph: Graph,
  to: Destination,
  { file }: Extract<MessagePart, { type: 'file' }>,
  { openFile, signal }: SendOptions,
): Promise<JsonObject> {
  const media = describeMedia(file.mediaType);
  if (media === undefined) throw new SendFailure('refused', `WhatsApp takes no files of the type ${file.mediaType}.`);
  const content = await openFile(file.fileId);
  const body = multipartBody(
    { messaging_product: 'whatsapp', type: media.mediaType },
    { name: 'file', filename: file.filename, mediaType: media.mediaType, content },
  );
  const path = `${to.account.accountId}/media`;
  const uploaded = await callGraph(graph, to, { method: 'POST', path, body }, signal).catch((error: unknown) => {
    // Nobody sees an upload: whatever became of it, it is done again.
    if (error instanceof SendFailure && error.kind === 'unknown') throw new SendFailure('unavailable', error.message);
    throw error;
  });
  const id = textAt(uploaded.body, 'id');
  if (id === undefined) throw new SendFailure('unavailable', 'Meta acknowledged the file without an id.');
  return { type: media.kind, [media.kind]: { id, ...(media.kind === 'document' && { filename: file.filename }) } };
}

async function callGraph(
  graph: Graph,
  to: Destination,
  request: GraphRequest,
  signal: AbortSignal,
): Promise<ProviderAnswer> {
  let answer: ProviderAnswer;
  try {
    answer = await graph.call(accessOf(to.account), request, signal);
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    const kind = error.reason === 'unreached' ? 'unavailable' : error.reason;
    throw new SendFailure(kind, `WhatsApp: ${error.message}.`, { cause: error });
  }
  if (answer.status >= 200 && answer.status < 300) {
    if (answer.isJson) return answer;
    throw new SendFailure('unknown', 'WhatsApp answered with something that is no JSON.');
  }
  throw refusalOf(answer);
}

function refusalOf(answer: ProviderAnswer): SendFailure {
  const { status } = answer;
  const refusal = readRefusal(answer);
  const code = refusal?.code ?? 0;
  const message = `WhatsApp: ${refusal?.message ?? `status ${status}`}`;
  if (code === PERSON_LIMIT) {
    return new SendFailure('paused', message, { bucket: 'chat', retryAfterMs: TOO_MANY_FOR_ONE_MS });
  }
  if (ACCOUNT_LIMITS.has(code) || status === 429) {
    const retryAfterMs = answer.retryAfterMs ?? TOO_MANY_MS;
    return new SendFailure('paused', message, { bucket: 'account', retryAfterMs });
  }
  if (PASSING.has(code) || status >= 500) return new SendFailure('unavailable', message);
  return new SendFailure('refused', message);
}
