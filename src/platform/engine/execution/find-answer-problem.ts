import type { AnswerProblem, ForeignSchemas } from '../../schemas/index.ts';
import type { ResponseFormat } from '../turn.ts';

/** What keeps the text from being an answer of the format; undefined when nothing does. Throws the signal's reason. */
export async function findAnswerProblem(
  schemas: ForeignSchemas,
  projectId: string,
  { text, format, signal }: { readonly text: string; readonly format: ResponseFormat; readonly signal: AbortSignal },
): Promise<AnswerProblem | undefined> {
  if (format.type === 'text') return undefined;
  if (format.schema !== undefined) return schemas.findAnswerProblem(projectId, format.schema, text, signal);
  try {
    JSON.parse(text);
    return undefined;
  } catch {
    return { problem: 'it is not JSON', isFinal: false };
  }
}
