import { project } from '../../access/operation.ts';
import type { Engine } from '../../engine/index.ts';
import { readSmithAhead } from '../../surfaces/openai/index.ts';
import { cancelResponse } from './cancel-response.ts';
import { createResponse } from './create-response.ts';
import { deleteResponse } from './delete-response.ts';
import { ResponseStreamEvent } from './event-schema.ts';
import { getResponse } from './get-response.ts';
import { listInputItems } from './list-input-items.ts';
import {
  InputItemQuery,
  Response,
  ResponseDeleted,
  ResponseIn,
  ResponseItemList,
  ResponsePath,
  ResponseQuery,
} from './schema.ts';

export function responseOperations({ engine }: { readonly engine: Engine }) {
  return [
    project.turn({
      id: 'responses.create',
      method: 'POST',
      path: '/v1/responses',
      posture: 'any',
      scope: 'runs:write',
      summary: 'Create a response',
      description:
        'A smith token is the smith; otherwise `user` is the smith’s external id, or `IC-Smith-Id` names it, and `user` ' +
        'with `IC-Agent-Id` provisions it. The response goes on behind `previous_response_id` or in a `conversation`. A ' +
        'response that ends with `function_call` items waits for them: send every `function_call_output` with the next ' +
        'one, which goes on with the same run. `mcp_approval_request` items are answered with `mcp_approval_response` ' +
        '(scope `approvals:write`), or by the approvals queue. With `stream` the answer is the events of the response, of ' +
        'which the last holds all of it; there is no `[DONE]`. Of OpenAI’s other members ' +
        'those that ask for another answer are refused, and hints that are not used are named in the header `IC-Warnings`.',
      streams: true,
      frames: ResponseStreamEvent,
      idempotent: true,
      readAhead: readSmithAhead,
      body: ResponseIn,
      example: { model: 'builtin/demo', user: 'user-1', input: 'Write 20 words' },
      reply: Response,
      errors: [
        'invalid_input',
        'too_many_inputs',
        'invalid_tool_choice',
        'invalid_response_format',
        'invalid_reasoning_effort',
        'unsupported_tools',
        'invalid_url',
        'url_required',
        'unsupported_background',
        'schema_error',
        'smith_required',
        'user_required',
        'smith_unresolved',
        'smith_mismatch',
        'not_found',
        'conversation_not_found',
        'conversation_locked',
        'concurrency_limit_exceeded',
        'budget_exceeded',
        'invalid_state',
        'replay_unsupported',
        'agent_unpublished',
        'invalid_variables',
        'unknown_provider',
        'model_key_missing',
        'bedrock_unconfigured',
        'idempotency_key_reused',
      ],
      handler: createResponse(engine),
    }),
    project.turn({
      id: 'responses.get',
      method: 'GET',
      path: '/v1/responses/{id}',
      posture: 'any',
      scope: 'runs:read',
      summary: 'Get a response, or its events',
      description:
        'With `stream` its events from the first, live until it ends. Every event has the `sequence_number` that it had ' +
        'in any other stream of the response: `starting_after` goes on behind one without a character lost or doubled.',
      streams: true,
      frames: ResponseStreamEvent,
      params: ResponsePath,
      query: ResponseQuery,
      reply: Response,
      handler: getResponse(engine),
    }),
    project.turn({
      id: 'responses.cancel',
      method: 'POST',
      path: '/v1/responses/{id}/cancel',
      posture: 'any',
      scope: 'runs:write',
      summary: 'Cancel a response',
      description: 'Stops it wherever it is made, background or not. One that has ended is answered as it is.',
      params: ResponsePath,
      reply: Response,
      handler: cancelResponse(engine),
    }),
    project.turn({
      id: 'responses.delete',
      method: 'DELETE',
      path: '/v1/responses/{id}',
      posture: 'any',
      scope: 'runs:write',
      summary: 'Delete a response',
      description:
        'It and the others of its run can no longer be retrieved or gone on from. The run stays among the smith’s runs.',
      params: ResponsePath,
      status: 200,
      reply: ResponseDeleted,
      handler: deleteResponse,
    }),
    project.read({
      id: 'responses.input_items.list',
      method: 'GET',
      path: '/v1/responses/{id}/input_items',
      posture: 'any',
      scope: 'runs:read',
      summary: 'List what was put into a response',
      params: ResponsePath,
      query: InputItemQuery,
      reply: ResponseItemList,
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listInputItems,
    }),
  ];
}
