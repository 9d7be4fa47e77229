import { project } from '../../access/operation.ts';
import { readSmithAhead } from '../../surfaces/openai/index.ts';
import { type ChatDependencies, createChatCompletion } from './create-chat-completion.ts';
import { ChatCompletion, ChatCompletionChunk, ChatCompletionIn } from './schema.ts';

export function chatCompletionOperations(deps: ChatDependencies) {
  return [
    project.turn({
      id: 'chat.completions.create',
      method: 'POST',
      path: '/v1/chat/completions',
      posture: 'any',
      scope: 'runs:write',
      summary: 'Run a turn, in the dialect of OpenAI’s chat completions',
      description:
        'A smith token is the smith; otherwise `user` is its external id, or `IC-Smith-Id` names it; `user` with ' +
        '`IC-Agent-Id` provisions it. The turn runs in a thread of its own, or in `conversation`. Tools of type ' +
        '`function` are the caller’s to run: send the results as messages with the role `tool`, and the same run goes on. ' +
        'Tools of the server run unseen. With `stream` the answer comes as chunks, ended by `[DONE]`, or by an error in ' +
        'place of what is left. `IC-Run-Id` names the run. Of OpenAI’s other members those that ask for ' +
        'another answer are refused, and hints that are not used are named in the header `IC-Warnings`.',
      streams: true,
      frames: ChatCompletionChunk,
      idempotent: true,
      readAhead: readSmithAhead,
      body: ChatCompletionIn,
      example: {
        model: 'builtin/demo',
        user: 'user-1',
        messages: [{ role: 'user', content: 'Write 20 words' }],
      },
      reply: ChatCompletion,
      errors: [
        'smith_required',
        'smith_unresolved',
        'smith_mismatch',
        'user_required',
        'conversation_not_found',
        'conversation_locked',
        'concurrency_limit_exceeded',
        'budget_exceeded',
        'invalid_input',
        'too_many_inputs',
        'unsupported_tools',
        'invalid_url',
        'url_required',
        'schema_error',
        'invalid_tool_choice',
        'invalid_response_format',
        'invalid_reasoning_effort',
        'invalid_variables',
        'agent_unpublished',
        'unknown_provider',
        'model_key_missing',
        'bedrock_unconfigured',
        'model_request_failed',
        'structured_output_failed',
        'tool_loop_failed',
        'connect_failed',
        'discovery_failed',
        'auth_required',
        'run_failed',
        'run_cancelled',
        'run_not_paused',
        'resume_failed',
        'idempotency_key_reused',
      ],
      handler: createChatCompletion(deps),
    }),
  ];
}
