/**
 * Pieces of an answer: in a thread a stream, which Slack shows as it is written; elsewhere, and where Slack streams nothing, a
 * message that is edited. Both are messages, and the answer takes their place.
 */
import type { JsonObject } from '../../tables.ts';
import type { Destination, LiveAnswers } from '../channel.ts';
import { textAt } from '../provider/read-json.ts';
import { splitMarkdown } from '../text/index.ts';
import { escapeText, renderMrkdwn } from './markup.ts';
import { readPlace } from './place.ts';
import { type LiveDependencies, requireAccess } from './require-access.ts';
import { failureOf } from './send-failure.ts';
import { type SlackAccess, SlackProblem } from './web-api.ts';

/** Slack takes fifty edits a minute, and a hundred pieces of streams. */
const PACE_MS = 1_500;
/** Of an edit, and of a stream. */
const EDIT_LIMIT = 4_000;
const STREAM_LIMIT = 12_000;
/** Of a message that has no text yet. */
const NOTHING_YET = '…';
const STREAM = 'stream:';

export function createSlackLive(deps: LiveDependencies): LiveAnswers {
  return {
    at: () => ({ paceMs: PACE_MS }),
    open: async (to, signal) => (await openStream(deps, to, signal)) ?? openMessage(deps, to, signal),
    async show(to, text, { message, shown, signal }) {
      if (message === undefined) return;
      const { ts, isStream } = readLiveMessage(message);
      if (!isStream) {
        const piece = pieceOf(text);
        if (piece !== '' && piece !== pieceOf(shown)) await call(deps, to, 'chat.update', { ts, text: piece }, signal);
        return;
      }
      const [written, before] = [withoutCalls(text), withoutCalls(shown)];
      // What was said otherwise before, and what is too long, the answer itself will show.
      if (!written.startsWith(before) || written === before || written.length > STREAM_LIMIT) return;
      const markdown_text = written.slice(before.length);
      await call(deps, to, 'chat.appendStream', { ts, markdown_text }, signal);
    },
    remove: (to, message, signal) => removeLive(deps, to, message, signal),
  };
}

/** Undefined where Slack streams nothing: outside of threads, and wherever else it says so. */
async function openStream(deps: LiveDependencies, to: Destination, signal: AbortSignal): Promise<string | undefined> {
  const { threadTs } = readPlace(to.chat);
  if (threadTs === undefined) return undefined;
  const [recipient_team_id, recipient_user_id] = to.sender.split(':');
  const args = { thread_ts: threadTs, recipient_team_id, recipient_user_id };
  const access = await requireAccess(deps, to);
  try {
    const ts = textAt(await deps.api.call(access, 'chat.startStream', withChannel(to, args), signal), 'ts');
    return ts === undefined ? undefined : `${STREAM}${ts}`;
  } catch (error) {
    if (error instanceof SlackProblem && error.kind === 'refused') return undefined;
    throw failureOf(error, 'chat');
  }
}

async function openMessage(deps: LiveDependencies, to: Destination, signal: AbortSignal): Promise<string | undefined> {
  const { threadTs } = readPlace(to.chat);
  const args = { text: NOTHING_YET, ...(threadTs === undefined ? {} : { thread_ts: threadTs }) };
  return textAt(await call(deps, to, 'chat.postMessage', args, signal), 'ts');
}

/** The answer in place of what is shown. Undefined where that cannot be: the message is gone, or takes no such text. */
export async function replaceLive(
  deps: LiveDependencies,
  access: SlackAccess,
  to: Destination,
  message: string,
  content: JsonObject,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { ts } = readLiveMessage(message);
  await endStream(deps, access, to, message, signal);
  try {
    await deps.api.call(access, 'chat.update', withChannel(to, { ...content, ts }), signal);
    return ts;
  } catch (error) {
    if (error instanceof SlackProblem && error.kind === 'refused') return undefined;
    throw failureOf(error, 'chat');
  }
}

/** Throws `SendFailure`; a message that is gone, or that Slack keeps, is none. */
export async function removeLive(
  deps: LiveDependencies,
  to: Destination,
  message: string,
  signal: AbortSignal,
): Promise<void> {
  const access = await requireAccess(deps, to);
  await endStream(deps, access, to, message, signal);
  try {
    await deps.api.call(access, 'chat.delete', withChannel(to, { ts: readLiveMessage(message).ts }), signal);
  } catch (error) {
    if (!(error instanceof SlackProblem && error.kind === 'refused')) throw failureOf(error, 'chat');
  }
}

/** A stream can be edited once it has ended. Whether it had ended is nobody's business. */
async function endStream(
  { api }: LiveDependencies,
  access: SlackAccess,
  to: Destination,
  message: string,
  signal: AbortSignal,
): Promise<void> {
  const { ts, isStream } = readLiveMessage(message);
  if (!isStream) return;
  await api.call(access, 'chat.stopStream', withChannel(to, { ts }), signal).catch((error: unknown) => {
    if (!(error instanceof SlackProblem)) throw error;
  });
}

async function call(deps: LiveDependencies, to: Destination, method: string, args: JsonObject, signal: AbortSignal) {
  const access = await requireAccess(deps, to);
  try {
    return await deps.api.call(access, method, withChannel(to, args), signal);
  } catch (error) {
    throw failureOf(error, 'chat');
  }
}

function withChannel({ chat }: Destination, args: JsonObject): JsonObject {
  return { ...args, channel: readPlace(chat).channelId };
}

function readLiveMessage(message: string): { readonly ts: string; readonly isStream: boolean } {
  const isStream = message.startsWith(STREAM);
  return { ts: isStream ? message.slice(STREAM.length) : message, isStream };
}

/** Well formed wherever the text ends. */
function pieceOf(markdown: string): string {
  const limits = { limit: EDIT_LIMIT, measure: (text: string) => escapeText(text).length };
  const [piece = ''] = splitMarkdown(markdown, limits);
  return renderMrkdwn(piece).trim();
}

/** A stream is Markdown of Slack's own: what calls people begins with `<`, which ends here, in whatever piece the rest comes. */
function withoutCalls(markdown: string): string {
  return markdown.replaceAll('<', '<\u2060');
}
