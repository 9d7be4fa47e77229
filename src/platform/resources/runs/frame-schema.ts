/** The frames of a run's stream: what the `data` of each server-sent event holds, by its `type`. */
import type { TProperties } from 'typebox';
import {
  component,
  jsonObject,
  nullable,
  oneOf,
  propertiesOf,
  timestamp,
  unionByType,
} from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { Elicitation } from '../../tools/elicitation-schema.ts';
import { RunError, RunUsage, RunWarning, ToolCall } from './schema.ts';

/** A numbered frame: it stands on the timeline and can be read again. */
function frame<P extends TProperties>(name: string, type: string, data: P) {
  return component(
    name,
    Type.Object({
      v: Type.Literal(1),
      run_id: Type.String(),
      seq: Type.Integer({
        description: 'Rises within the run; also the event’s `id`. `Last-Event-ID` goes on behind it.',
      }),
      type: Type.Literal(type),
      data: Type.Object(data),
      created_at: nullable(timestamp()),
    }),
  );
}

const step = Type.Integer({ description: 'Which step of the turn says it.' });
const text = Type.String({ description: 'What follows on what came before.' });
const call = { tool: Type.String(), tool_call_id: Type.String() };
const label = Type.String({ description: 'Of an MCP server that the run’s request brought.' });
const mcp = Type.Optional(
  Type.Object(
    { server_label: Type.String(), name: Type.String(), approval_id: Type.Optional(Type.String()) },
    {
      description:
        'Whose tool it is, of an MCP server’s, and its name there; the approval that the call was made under.',
    },
  ),
);
const WaitingCall = component(
  'WaitingCall',
  Type.Object({ ...propertiesOf(ToolCall), elicitation: Type.Optional(Elicitation), mcp }),
);
const ending = {
  stop_reason: nullable(Type.String()),
  usage: RunUsage,
  warnings: Type.Optional(Type.Array(RunWarning)),
};

const frames = {
  'run.started': frame('RunStartedFrame', 'run.started', {
    smith_id: Type.String(),
    thread_id: Type.String(),
    model: Type.String(),
  }),
  'message.delta': frame('MessageDeltaFrame', 'message.delta', { text, step }),
  reasoning: frame('ReasoningFrame', 'reasoning', { text, step }),
  'message.completed': frame('MessageCompletedFrame', 'message.completed', {
    content: Type.String(),
    content_type: oneOf(['text/plain', 'application/json']),
    step,
  }),
  'tool.executing': frame('ToolExecutingFrame', 'tool.executing', { ...call, args: jsonObject(), mcp }),
  'tool.completed': frame('ToolCompletedFrame', 'tool.completed', {
    ...call,
    output: Type.Unsafe<unknown>({ description: 'What the tool answered, or `{error}`.' }),
    mcp,
  }),
  'mcp.listing': frame('McpListingFrame', 'mcp.listing', { server_label: label }),
  'mcp.listed': frame('McpListedFrame', 'mcp.listed', {
    server_label: label,
    tools: Type.Array(jsonObject(), {
      description: 'Each with `name`, `input_schema`, `description?`, `annotations?`.',
    }),
    error: Type.Optional(Type.String({ description: 'Why they could not be listed: the run fails.' })),
  }),
  'approval.required': frame('ApprovalRequiredFrame', 'approval.required', {
    approval_id: Type.String(),
    ...call,
    args: jsonObject(),
    elicitation: Type.Optional(Elicitation),
  }),
  'approval.resolved': frame('ApprovalResolvedFrame', 'approval.resolved', {
    approval_id: Type.String(),
    decision: oneOf(['approve', 'reject', 'expired']),
    actor: nullable(Type.String({ description: 'Null where nobody decided.' })),
    content: Type.Unsafe<unknown>({ description: 'What the person entered; null for nothing.' }),
  }),
  'run.paused': frame('RunPausedFrame', 'run.paused', {
    reason: oneOf(['approval', 'connection_required', 'tool_result']),
    tool_calls: Type.Array(WaitingCall, {
      description: 'The calls that wait for `submit`, or for an account to be connected.',
    }),
  }),
  'run.completed': frame('RunCompletedFrame', 'run.completed', ending),
  'run.failed': frame('RunFailedFrame', 'run.failed', { error: RunError }),
  'run.cancelled': frame('RunCancelledFrame', 'run.cancelled', ending),
  'run.restarted': frame('RunRestartedFrame', 'run.restarted', {
    attempt: Type.Integer(),
    step: Type.Integer({ description: 'What was streamed of this step and behind it is void: it is made again.' }),
  }),
  'run.duplicate': component(
    'RunDuplicateFrame',
    Type.Object(
      {
        v: Type.Literal(1),
        run_id: Type.String(),
        type: Type.Literal('run.duplicate'),
        status: Type.String(),
        thread_id: Type.String(),
        events: Type.String({ description: 'Where the run’s timeline is.' }),
      },
      { description: 'The only frame of a repeated `Idempotency-Key`: the run that the key started.' },
    ),
  ),
  'stream.detached': component(
    'StreamDetachedFrame',
    Type.Object(
      {
        v: Type.Literal(1),
        run_id: Type.String(),
        type: Type.Literal('stream.detached'),
        reason: Type.String({ description: '`draining` or `storage_unavailable`.' }),
        resume: Type.String({ description: 'Where to read on, with `Last-Event-ID`.' }),
      },
      {
        description:
          'The server goes away, or its database does not answer; the run goes on, elsewhere or later. Not part of the timeline.',
      },
    ),
  ),
};

export const RunStreamFrame = unionByType('RunStreamFrame', frames);
