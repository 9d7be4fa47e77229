/**
 * The prompt: instructions, the names of skills, what the request says of its MCP servers, the smith's memory, the thread's summary and messages. Tool calls and results are paired, also
 * those of turns that did not finish.
 */
import type { LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4ToolResultPart } from '@ai-sdk/provider';
import { RESULT_FILES_TEXT } from '../../models/index.ts';
import type { StoredMessage, ThreadHistory, TurnConfig } from '../turn.ts';
import { promptMemory } from './prompt-memory.ts';
import { promptServers } from './prompt-servers.ts';
import { promptSkills } from './prompt-skills.ts';

type ToolMessage = Extract<LanguageModelV4Message, { role: 'tool' }>;

/** `contextWindow`: tokens of the model's window. */
export function buildPrompt(config: TurnConfig, history: ThreadHistory, contextWindow: number): LanguageModelV4Prompt {
  const summary =
    history.summary === null ? [] : [`What was said earlier in this conversation, in brief:\n${history.summary}`];
  const given = history.messages.flatMap(({ role, content }) => (role === 'system' ? [String(content)] : []));
  const memory = promptMemory(config, contextWindow);
  const skills = promptSkills(config);
  const servers = promptServers(config);
  const system = [
    ...(config.instructions === '' ? [] : [config.instructions]),
    ...(skills === '' ? [] : [skills]),
    ...(servers === '' ? [] : [servers]),
    ...(memory === '' ? [] : [memory]),
    ...given,
    ...summary,
  ];
  return [
    // All at the beginning: most providers refuse system messages anywhere else.
    ...system.map((content) => ({ role: 'system' as const, content })),
    ...pairToolCalls(history.messages.filter(({ role }) => role !== 'system')),
  ];
}

/**
 * Puts every tool result right behind its call, as providers demand, and gives a call without one a result that says
 * so: its turn was cancelled or has failed, or is paused.
 */
function pairToolCalls(stored: readonly StoredMessage[]): LanguageModelV4Message[] {
  // By turn as well: providers may count their ids from zero in each answer, and a turn's are told apart.
  const results = new Map<string, LanguageModelV4ToolResultPart>();
  const messages = stored.map((each) => ({ turn: each.turn, message: restoreMessage(each) }));
  /** The turn of the last call with an id. */
  const callTurns = new Map<string, number>();
  for (const { turn, message } of messages) {
    if (message.role !== 'assistant' && message.role !== 'tool') continue;
    for (const part of message.content) {
      if (part.type === 'tool-call') callTurns.set(part.toolCallId, turn);
      if (part.type !== 'tool-result') continue;
      // Added to a conversation by itself, a result answers a call of an earlier turn.
      const callTurn = callTurns.get(part.toolCallId) ?? turn;
      const key = `${callTurn}/${part.toolCallId}`;
      if (callTurn === turn || !results.has(key)) results.set(key, part);
    }
  }
  return messages.flatMap(({ turn, message }): LanguageModelV4Message[] => {
    if (message.role === 'tool') return [];
    if (message.role !== 'assistant') return [message];
    const calls = message.content.filter((part) => part.type === 'tool-call');
    // Reasoning without text (the text was deleted): providers refuse an empty message.
    if (message.content.every((part) => part.type === 'reasoning')) return [];
    if (calls.length === 0) return [message];
    const answers: ToolMessage['content'] = calls.map(
      ({ toolCallId, toolName }) =>
        results.get(`${turn}/${toolCallId}`) ?? {
          type: 'tool-result',
          toolCallId,
          toolName,
          output: { type: 'error-text', value: 'There is no result: the call was not finished.' },
        },
    );
    return [message, ...showResults(answers)];
  });
}

type ToolContent = Extract<LanguageModelV4ToolResultPart['output'], { type: 'content' }>['value'];
type FilePart = Extract<ToolContent[number], { type: 'file' }>;

/** Results in words, and behind them the files among them, as a user would attach them: what every provider takes. */
function showResults(answers: ToolMessage['content']): LanguageModelV4Message[] {
  const files: FilePart[] = [];
  const shown = answers.map((part) => {
    if (part.type !== 'tool-result' || part.output.type !== 'content') return part;
    const words = part.output.value.flatMap((piece) => {
      if (piece.type === 'text') return [piece.text];
      if (piece.type !== 'file') return [];
      files.push(piece);
      return [`[${piece.filename ?? piece.mediaType}: attached below]`];
    });
    return { ...part, output: { type: 'text' as const, value: words.join('\n') } };
  });
  const results: LanguageModelV4Message = { role: 'tool', content: shown };
  if (files.length === 0) return [results];
  return [results, { role: 'user', content: [{ type: 'text', text: RESULT_FILES_TEXT }, ...files] }];
}

/** A stored message as the model interface wants it: addresses of files are URL objects there. */
function restoreMessage({ role, content }: StoredMessage): LanguageModelV4Message {
  if (typeof content === 'string') return { role, content } as LanguageModelV4Message;
  const parts = (content as readonly { type: string; data?: { type: string; url?: unknown } }[]).map((part) =>
    part.type === 'file' && part.data?.type === 'url'
      ? { ...part, data: { type: 'url', url: new URL(String(part.data.url)) } }
      : part,
  );
  return { role, content: parts } as LanguageModelV4Message;
}
