import type { LanguageModelV4CallOptions, LanguageModelV4FilePart } from '@ai-sdk/provider';
import type { MakeInstance } from '../../schemas/index.ts';
import { type Instruction, type RequestedCall, readInstruction } from './instruction.ts';
import { type PromptView, readPrompt } from './prompt-view.ts';
import { findBestLines } from './retrieval.ts';

/** What the built-in model will do about a prompt, decided in full before the first part is emitted. */
export type Reply =
  | { readonly type: 'fail'; readonly status: number }
  | { readonly type: 'calls'; readonly calls: readonly { readonly toolName: string; readonly input: string }[] }
  | { readonly type: 'words'; readonly words: number; readonly wordsPerSecond: number | undefined }
  | { readonly type: 'text'; readonly text: string; readonly reasoning?: string; readonly refused?: boolean };

const WRITE_WORDS_MAX = 100_000;
const WORDS_PER_SECOND_MAX = 10_000;
const QUOTED_INSTRUCTIONS_MAX_CHARS = 200;
const QUOTED_MESSAGE_MAX_CHARS = 2000;
const QUOTED_RESULT_MAX_CHARS = 8000;
/** Free strings of a schema carry the message up to here. */
const SCHEMA_TEXT_MAX_CHARS = 80;

const SEARCH_TOOL = 'file_search';
const SEARCH_QUERY_MAX_CHARS = 1_000;

const SELF =
  'I am the built-in demo model of this platform: I run offline, need no key, and follow a few fixed instructions.';

export async function planReply(options: LanguageModelV4CallOptions, makeInstance: MakeInstance): Promise<Reply> {
  const view = readPrompt(options.prompt);
  const instruction = readInstruction(view.message);
  if (instruction.type === 'fail') return instruction;
  if (instruction.type === 'refuse') return { type: 'text', text: 'I refuse to answer, as you asked.', refused: true };
  const asked = instruction.type === 'call' ? (instruction.steps[view.resultSteps] ?? []) : [];
  // Where no further step is asked for, results end the calling: a forced tool choice would otherwise go on for ever.
  const isDone = view.results.length > 0 && asked.length === 0;
  const calls = isDone ? undefined : await planCalls({ instruction, asked }, options, { view, makeInstance });
  if (calls?.type === 'calls') return calls;

  const thought =
    instruction.type === 'think' && options.reasoning !== 'none'
      ? { reasoning: reason(instruction.subject, view) }
      : {};
  if (options.responseFormat?.type === 'json') {
    return { type: 'text', text: await writeJson(options.responseFormat, { view, makeInstance }), ...thought };
  }
  if (calls !== undefined) return calls;
  if (instruction.type === 'write') return planWords(instruction.words, instruction.wordsPerSecond);
  return { type: 'text', text: writeText(view, instruction), ...thought };
}

/** What values by a schema are made with: the message that they carry, and the maker. */
interface InstanceWriter {
  readonly view: PromptView;
  readonly makeInstance: MakeInstance;
}

/** The calls to make, or the sentence that says why none is made; undefined where nothing asks for one. */
async function planCalls(
  { instruction, asked }: { readonly instruction: Instruction; readonly asked: readonly RequestedCall[] },
  options: LanguageModelV4CallOptions,
  writer: InstanceWriter,
): Promise<Reply | undefined> {
  const choice = options.toolChoice ?? { type: 'auto' };
  const tools = new Map(
    (options.tools ?? []).map((tool) => [tool.name, tool.type === 'function' ? tool.inputSchema : {}]),
  );
  const callable = asked.flatMap(({ name, argumentsJson }) =>
    argumentsJson !== undefined && tools.has(name) ? [{ toolName: name, input: argumentsJson }] : [],
  );
  switch (choice.type) {
    case 'none':
      if (asked.length === 0) return undefined;
      return { type: 'text', text: 'I was asked to call a tool, but tool_choice is none, so that I call none.' };
    case 'auto':
      if (asked.length === 0) return planSearch(instruction, tools, writer.view);
      if (callable.length === asked.length) return { type: 'calls', calls: callable };
      return {
        type: 'text',
        text: asked
          .map((call) => explainNoCall(call, tools))
          .filter(Boolean)
          .join(' '),
      };
    case 'required': {
      if (callable.length > 0) return { type: 'calls', calls: callable };
      const first = [...tools][0];
      return first === undefined ? undefined : { type: 'calls', calls: [await makeCall(first[0], first[1], writer)] };
    }
    case 'tool': {
      const named = callable.filter((call) => call.toolName === choice.toolName);
      if (named.length > 0) return { type: 'calls', calls: named };
      const schema = tools.get(choice.toolName);
      if (schema === undefined)
        return { type: 'text', text: `The tool "${choice.toolName}" is not among the tools offered to me.` };
      return { type: 'calls', calls: [await makeCall(choice.toolName, schema, writer)] };
    }
  }
}

/** An ordinary question is looked up where there is something to look it up in. */
function planSearch(
  instruction: Instruction,
  tools: ReadonlyMap<string, unknown>,
  { message }: PromptView,
): Reply | undefined {
  if (instruction.type !== 'reply' || message === '' || !tools.has(SEARCH_TOOL)) return undefined;
  const query = clip(message, SEARCH_QUERY_MAX_CHARS);
  return { type: 'calls', calls: [{ toolName: SEARCH_TOOL, input: JSON.stringify({ query }) }] };
}

function explainNoCall(call: RequestedCall, tools: ReadonlyMap<string, unknown>): string {
  if (!tools.has(call.name)) {
    const offered = tools.size === 0 ? 'No tools are offered.' : `Offered are: ${[...tools.keys()].join(', ')}.`;
    return `The tool "${call.name}" is not among the tools offered to me. ${offered}`;
  }
  if (call.argumentsJson === undefined) return `The arguments for the tool "${call.name}" are not a JSON object.`;
  return `I did not call the tool "${call.name}", for another call of the same message was not possible.`;
}

async function makeCall(toolName: string, schema: unknown, { view, makeInstance }: InstanceWriter) {
  const made = await makeInstance(isSchema(schema) ? schema : {}, quoteShort(view.message));
  // Arguments are an object, whatever the schema says.
  const input = typeof made === 'object' && made !== null && !Array.isArray(made) ? made : {};
  return { toolName, input: JSON.stringify(input) };
}

async function writeJson(format: { schema?: unknown }, { view, makeInstance }: InstanceWriter): Promise<string> {
  if (isSchema(format.schema)) return JSON.stringify(await makeInstance(format.schema, quoteShort(view.message)));
  return JSON.stringify({ model: 'builtin/demo', message: view.message });
}

function isSchema(value: unknown): value is Parameters<MakeInstance>[0] {
  return typeof value === 'boolean' || (typeof value === 'object' && value !== null && !Array.isArray(value));
}

function planWords(words: number, wordsPerSecond: number | undefined): Reply {
  if (words > WRITE_WORDS_MAX) return { type: 'text', text: `I write at most ${WRITE_WORDS_MAX} words in one answer.` };
  if (wordsPerSecond !== undefined && !(wordsPerSecond > 0 && wordsPerSecond <= WORDS_PER_SECOND_MAX)) {
    return { type: 'text', text: `I write at more than 0 and at most ${WORDS_PER_SECOND_MAX} words per second.` };
  }
  return { type: 'words', words, wordsPerSecond };
}

function reason(subject: string, view: PromptView): string {
  const about = subject === '' ? 'the message' : `"${subject}"`;
  return `The user wants me to think about ${about}. I have ${view.sections.length} sections of context and no knowledge of my own. I will say so.`;
}

function writeText(view: PromptView, instruction: Instruction): string {
  if (view.results.length > 0 && (instruction.type === 'call' || !view.resultsHaveSections)) {
    return view.results.map(repeatResult).join('\n');
  }
  if (view.sections.length > 0) return join(writeFromContext(view), quoteInstructions(view));
  const thought = instruction.type === 'think' ? 'I have thought about it.' : undefined;
  return join(thought, describeFiles(view), quoteMessage(view), SELF, quoteInstructions(view));
}

function writeFromContext(view: PromptView): string {
  const lines = findBestLines(view.message, view.sections);
  if (lines.length === 0)
    return `Nothing in the search results or the memory that I was given matches "${clip(view.message, QUOTED_MESSAGE_MAX_CHARS)}". ${SELF}`;
  return `In the context that I was given I found:\n${lines.map((line) => `> ${line}`).join('\n')}\n`;
}

function repeatResult({ toolName, text, outcome }: PromptView['results'][number]): string {
  const shown = clip(text, QUOTED_RESULT_MAX_CHARS);
  switch (outcome) {
    case 'returned':
      return `The tool ${toolName} returned: ${shown}`;
    case 'failed':
      return `The tool ${toolName} failed: ${shown}`;
    case 'denied':
      return `The call of the tool ${toolName} was denied: ${shown}`;
  }
}

function describeFiles(view: PromptView): string | undefined {
  if (view.files.length === 0) return undefined;
  const shown = view.files.map((file) => {
    const name = file.filename === undefined ? '' : ` "${clip(file.filename, 100)}"`;
    return `${file.mediaType}${name}${describeData(file.data)}`;
  });
  return `I received ${shown.length === 1 ? 'one file' : `${shown.length} files`}, which I cannot look into: ${shown.join('; ')}.`;
}

function describeData(data: LanguageModelV4FilePart['data']): string {
  switch (data.type) {
    case 'data':
      return `, ${countBytes(data.data)} bytes`;
    case 'text':
      return `, ${Buffer.byteLength(data.text)} bytes`;
    case 'url':
      return ` at ${clip(data.url.href, 200)}`;
    case 'reference':
      return ' by reference';
  }
}

function countBytes(data: string | Uint8Array): number {
  return typeof data === 'string' ? Buffer.byteLength(data, 'base64') : data.byteLength;
}

function quoteMessage(view: PromptView): string | undefined {
  return view.message === '' ? undefined : `You wrote: "${clip(view.message, QUOTED_MESSAGE_MAX_CHARS)}".`;
}

/** Shows that the instructions reached the model, without repeating them whole. */
function quoteInstructions(view: PromptView): string | undefined {
  const line = view.instructions.split('\n')[0]?.trim() ?? '';
  return line === '' ? undefined : `Instructions: "${line.slice(0, QUOTED_INSTRUCTIONS_MAX_CHARS)}".`;
}

function quoteShort(message: string): string {
  return clip(message.replace(/\s+/g, ' '), SCHEMA_TEXT_MAX_CHARS);
}

function clip(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}…`;
}

function join(...sentences: (string | undefined)[]): string {
  return sentences
    .filter((each) => each !== undefined)
    .reduce((text, each) => (text === '' || text.endsWith('\n') ? `${text}${each}` : `${text} ${each}`), '');
}
