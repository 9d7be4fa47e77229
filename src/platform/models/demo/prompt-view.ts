import type { LanguageModelV4FilePart, LanguageModelV4Prompt, LanguageModelV4ToolResultPart } from '@ai-sdk/provider';
import { type ContextSection, findSections, RESULT_FILES_TEXT, stripSections } from '../context-sections.ts';

/** What the built-in model reads out of a prompt. */
export interface PromptView {
  /** The system messages without their sections. */
  readonly instructions: string;
  /** The text of the last user message. */
  readonly message: string;
  readonly files: readonly LanguageModelV4FilePart[];
  /** Results of tools that came after the last user message. */
  readonly results: readonly ToolResultView[];
  /** How many steps those results are of. */
  readonly resultSteps: number;
  /** Search results and memory, of the system messages and of those tool results. */
  readonly sections: readonly ContextSection[];
  readonly resultsHaveSections: boolean;
}

export interface ToolResultView {
  readonly toolName: string;
  readonly text: string;
  readonly outcome: 'returned' | 'failed' | 'denied';
}

export function readPrompt(prompt: LanguageModelV4Prompt): PromptView {
  const system: string[] = [];
  let message = '';
  let files: LanguageModelV4FilePart[] = [];
  let results: ToolResultView[] = [];
  let resultSteps = 0;
  for (const [index, entry] of prompt.entries()) {
    if (entry.role === 'system') system.push(entry.content);
    else if (entry.role === 'user') {
      const [first] = entry.content;
      // No message: it belongs to the results before it.
      if (first?.type === 'text' && first.text === RESULT_FILES_TEXT) continue;
      message = entry.content
        .map((part) => (part.type === 'text' ? part.text : ''))
        .filter(Boolean)
        .join('\n');
      files = entry.content.filter((part) => part.type === 'file');
      results = [];
      resultSteps = 0;
    } else {
      // The results of one step follow each other.
      if (entry.role === 'tool' && prompt[index - 1]?.role !== 'tool') resultSteps += 1;
      for (const part of entry.content) if (part.type === 'tool-result') results.push(readResult(part));
    }
  }
  const systemText = system.join('\n\n');
  const found = results.flatMap((result) => findSections(result.text));
  return {
    instructions: stripSections(systemText).trim(),
    message: message.trim(),
    files,
    results,
    resultSteps,
    sections: [...found, ...findSections(systemText)],
    resultsHaveSections: found.length > 0,
  };
}

function readResult(part: LanguageModelV4ToolResultPart): ToolResultView {
  const { output, toolName } = part;
  switch (output.type) {
    case 'text':
      return { toolName, text: output.value, outcome: 'returned' };
    case 'json':
      return { toolName, text: showJson(output.value), outcome: 'returned' };
    case 'error-text':
      return { toolName, text: output.value, outcome: 'failed' };
    case 'error-json':
      return { toolName, text: showJson(output.value), outcome: 'failed' };
    case 'execution-denied':
      return { toolName, text: output.reason ?? 'no reason given', outcome: 'denied' };
    case 'content': {
      const texts = output.value.map((each) => {
        if (each.type === 'text') return each.text;
        return each.type === 'file' ? `[${each.mediaType}]` : '';
      });
      return { toolName, text: texts.filter(Boolean).join('\n'), outcome: 'returned' };
    }
  }
}

/** A bare string is shown as itself, so that sections and line breaks in it stay readable. */
function showJson(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
