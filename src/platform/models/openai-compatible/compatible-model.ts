/** A model behind OpenAI's chat completions, which most providers and local servers speak. */
import type { Readable } from 'node:stream';
import { JSONParseError, type SharedV4Warning, TypeValidationError } from '@ai-sdk/provider';
import type { OutboundReply, Post } from '../../../kernel/outbound/outbound.ts';
import { ANSWER_BYTES_MAX, AnswerTooLarge } from '../answer-limits.ts';
import { BufferedAnswer, listParts } from '../buffered-answer.ts';
import type { ChatModel } from '../chat-model.ts';
import type { Endpoint } from '../endpoint.ts';
import { ChatChunks } from './chat-chunks.ts';
import { EventStreamAnswer } from './event-stream.ts';
import { renderRequest } from './request-body.ts';
import { makeConnectionError, makeStatusError, makeUnreadableError } from './upstream-errors.ts';
import { readWholeAnswer } from './whole-answer.ts';

/** Of an error: more than its declared message may come from. */
const ERROR_BYTES_MAX = 256 * 1024;

/**
 * No work is done for a token but its parsing and the check of the members that are read: what a package does for each
 * (`@ai-sdk`, zod, a chain of web streams) costs several times as much as the rest of its way through the server.
 */
export function createCompatibleModel(provider: string, endpoint: Endpoint, post: Post): ChatModel {
  const { model, apiKey, baseUrl } = endpoint;
  const headers = {
    accept: '*/*',
    'content-type': 'application/json',
    authorization: `Bearer ${apiKey}`,
    'user-agent': 'Ironcraft',
  };
  return {
    provider,
    modelId: model,
    async ask(options, buffered) {
      const { body, warnings } = await renderRequest({ provider, model }, options, !buffered);
      const signal = options.abortSignal ?? new AbortController().signal;
      const reply = await post({ url: `${baseUrl}/chat/completions`, headers, body, signal }).catch((error) => {
        throw makeConnectionError(error);
      });
      if (reply.status < 200 || reply.status >= 300) {
        throw makeStatusError(reply, (await readText(reply.body, ERROR_BYTES_MAX)).text);
      }
      if (buffered) return readWhole(reply, provider, warnings);
      return new EventStreamAnswer(reply.body, new ChatChunks(provider, warnings));
    },
  };
}

async function readWhole(reply: OutboundReply, provider: string, warnings: SharedV4Warning[]) {
  const { text, isWhole } = await readText(reply.body, ANSWER_BYTES_MAX);
  if (!isWhole) throw new AnswerTooLarge(`more than ${ANSWER_BYTES_MAX} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw makeUnreadableError(reply, text, new JSONParseError({ text, cause }));
  }
  try {
    return new BufferedAnswer(listParts(readWholeAnswer(value, provider, warnings)));
  } catch (cause) {
    throw makeUnreadableError(reply, text, new TypeValidationError({ value, cause }));
  }
}

/** As much of a body as is taken; its connection is closed where that is not all. */
async function readText(body: Readable, maxBytes: number): Promise<{ text: string; isWhole: boolean }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBytes) break;
    }
  } catch (error) {
    throw makeConnectionError(error);
  }
  return { text: new TextDecoder().decode(Buffer.concat(chunks)), isWhole: bytes <= maxBytes };
}
