/** The events of a streamed response, by their `type`: those of OpenAI's dialect that a turn can make. */
import type { TProperties } from 'typebox';
import { component, jsonObject, nullable, unionByType } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { Response, ResponseItem } from './schema.ts';

const number = Type.Integer({ description: 'Rises within the response. `starting_after` goes on behind it.' });

function event<P extends TProperties>(name: string, type: string, members: P) {
  return component(name, Type.Object({ type: Type.Literal(type), sequence_number: number, ...members }));
}

const item = { output_index: Type.Integer(), item: ResponseItem };
const inItem = { item_id: Type.String(), output_index: Type.Integer() };
const inContent = { ...inItem, content_index: Type.Integer() };
const inSummary = { ...inItem, summary_index: Type.Integer() };
const text = Type.String();
const none = Type.Array(Type.Unsafe<unknown>({}), { description: 'Always empty.' });

const events = {
  'response.created': event('ResponseCreatedEvent', 'response.created', { response: Response }),
  'response.in_progress': event('ResponseInProgressEvent', 'response.in_progress', { response: Response }),
  'response.completed': event('ResponseCompletedEvent', 'response.completed', { response: Response }),
  'response.incomplete': event('ResponseIncompleteEvent', 'response.incomplete', { response: Response }),
  'response.failed': event('ResponseFailedEvent', 'response.failed', { response: Response }),
  'response.output_item.added': event('OutputItemAddedEvent', 'response.output_item.added', item),
  'response.output_item.done': event('OutputItemDoneEvent', 'response.output_item.done', item),
  'response.content_part.added': event('ContentPartAddedEvent', 'response.content_part.added', {
    ...inContent,
    part: jsonObject(),
  }),
  'response.content_part.done': event('ContentPartDoneEvent', 'response.content_part.done', {
    ...inContent,
    part: jsonObject(),
  }),
  'response.output_text.delta': event('OutputTextDeltaEvent', 'response.output_text.delta', {
    ...inContent,
    delta: text,
    logprobs: none,
  }),
  'response.output_text.done': event('OutputTextDoneEvent', 'response.output_text.done', {
    ...inContent,
    text,
    logprobs: none,
  }),
  'response.output_text.annotation.added': event(
    'OutputTextAnnotationAddedEvent',
    'response.output_text.annotation.added',
    { ...inContent, annotation_index: Type.Integer(), annotation: jsonObject() },
  ),
  'response.reasoning_summary_part.added': event(
    'ReasoningSummaryPartAddedEvent',
    'response.reasoning_summary_part.added',
    { ...inSummary, part: jsonObject() },
  ),
  'response.reasoning_summary_part.done': event(
    'ReasoningSummaryPartDoneEvent',
    'response.reasoning_summary_part.done',
    { ...inSummary, part: jsonObject() },
  ),
  'response.reasoning_summary_text.delta': event(
    'ReasoningSummaryTextDeltaEvent',
    'response.reasoning_summary_text.delta',
    { ...inSummary, delta: text },
  ),
  'response.reasoning_summary_text.done': event(
    'ReasoningSummaryTextDoneEvent',
    'response.reasoning_summary_text.done',
    { ...inSummary, text },
  ),
  'response.function_call_arguments.delta': event(
    'FunctionCallArgumentsDeltaEvent',
    'response.function_call_arguments.delta',
    { ...inItem, delta: text },
  ),
  'response.function_call_arguments.done': event(
    'FunctionCallArgumentsDoneEvent',
    'response.function_call_arguments.done',
    { ...inItem, name: Type.String(), arguments: text },
  ),
  'response.file_search_call.in_progress': event(
    'FileSearchCallInProgressEvent',
    'response.file_search_call.in_progress',
    inItem,
  ),
  'response.file_search_call.searching': event(
    'FileSearchCallSearchingEvent',
    'response.file_search_call.searching',
    inItem,
  ),
  'response.file_search_call.completed': event(
    'FileSearchCallCompletedEvent',
    'response.file_search_call.completed',
    inItem,
  ),
  'response.mcp_call.in_progress': event('McpCallInProgressEvent', 'response.mcp_call.in_progress', inItem),
  'response.mcp_call.completed': event('McpCallCompletedEvent', 'response.mcp_call.completed', inItem),
  'response.mcp_call.failed': event('McpCallFailedEvent', 'response.mcp_call.failed', inItem),
  'response.mcp_call_arguments.delta': event('McpCallArgumentsDeltaEvent', 'response.mcp_call_arguments.delta', {
    ...inItem,
    delta: text,
  }),
  'response.mcp_call_arguments.done': event('McpCallArgumentsDoneEvent', 'response.mcp_call_arguments.done', {
    ...inItem,
    arguments: text,
  }),
  'response.mcp_list_tools.in_progress': event(
    'McpListToolsInProgressEvent',
    'response.mcp_list_tools.in_progress',
    inItem,
  ),
  'response.mcp_list_tools.completed': event('McpListToolsCompletedEvent', 'response.mcp_list_tools.completed', inItem),
  'response.mcp_list_tools.failed': event('McpListToolsFailedEvent', 'response.mcp_list_tools.failed', inItem),
  error: event('ResponseErrorEvent', 'error', {
    code: Type.String(),
    message: Type.String(),
    param: nullable(Type.String()),
    error: jsonObject({ description: 'The same again, where other clients look for it.' }),
  }),
};

export const ResponseStreamEvent = unionByType('ResponseStreamEvent', events);
