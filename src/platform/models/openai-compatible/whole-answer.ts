/** An answer that was asked for in one piece. */
import type { LanguageModelV4Content, LanguageModelV4GenerateResult, SharedV4Warning } from '@ai-sdk/provider';
import { mintId } from '../../../kernel/ids/ids.ts';
import { readMetadata, readUsage, renderFinishReason, renderUsage, signatureOf } from './answer-members.ts';
import { listOf, objectOf, optionalText, readCallFragments, readSaid, WrongMember } from './chat-members.ts';

/** Throws `WrongMember` for what is no answer of a model. */
export function readWholeAnswer(
  value: unknown,
  provider: string,
  warnings: SharedV4Warning[],
): LanguageModelV4GenerateResult {
  const answer = objectOf(value, 'answer');
  const choice = objectOf(listOf(answer.choices, 'choices')[0], 'choices[]');
  const message = objectOf(choice.message, 'message');
  const { reasoning, content, refusal } = readSaid(message);
  const refused: LanguageModelV4Content[] = refusal === '' ? [] : [{ type: 'text', text: refusal }];
  return {
    content: [
      ...(reasoning === '' ? [] : [{ type: 'reasoning' as const, text: reasoning }]),
      ...content,
      ...refused,
      ...readCalls(message.tool_calls, provider),
    ],
    finishReason: renderFinishReason(optionalText(choice.finish_reason, 'finish_reason'), refused.length > 0),
    usage: renderUsage(readUsage(answer.usage)),
    warnings,
    response: readMetadata(answer),
  };
}

function readCalls(calls: unknown, provider: string): LanguageModelV4Content[] {
  return readCallFragments(calls).map(({ id, name, args, thoughtSignature }) => {
    if (name === undefined || args === undefined) throw new WrongMember('function', 'a call with a name and arguments');
    const signature = signatureOf(provider, thoughtSignature);
    return { type: 'tool-call', toolCallId: id ?? mintId('call'), toolName: name, input: args, ...signature };
  });
}
