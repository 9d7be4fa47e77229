/** Runs and the model. A fault in what the turn depends on (model, tools) is 502; of the platform itself, 500. */
import type { ErrorTexts } from '../../kernel/http/errors.ts';

export const runErrors = {
  conversation_locked: {
    status: 400,
    message:
      'This smith is busy with another turn, and it takes one at a time. Wait for the number of seconds in `Retry-After`, or for the other run to end, and repeat the request.',
  },
  invalid_input: {
    status: 422,
    message:
      'The input is empty, or one of its messages or parts has a form that is not accepted. Correct the entry named in `param`.',
  },
  too_many_inputs: {
    status: 422,
    message: 'The request holds more inputs than one call takes. Split them into several requests.',
  },
  invalid_response_format: {
    status: 422,
    message:
      'The response format is not one that is supported. Use `text`, `json_object`, or `json_schema` with a name and a schema.',
  },
  schema_error: {
    status: 422,
    message: 'A JSON Schema in the request cannot be used. Correct the schema that `param` names.',
  },
  invalid_tool_choice: {
    status: 422,
    message: 'The tool choice is not valid. Use `auto`, `none`, `required`, or name a function that `tools` contains.',
  },
  invalid_reasoning_effort: {
    status: 422,
    message: 'The reasoning effort is not known. Use one of the values that this operation documents, or leave it out.',
  },
  unsupported_tools: {
    status: 422,
    message: 'The request offers a tool of a type that is not supported here. Use `function`, `file_search` or `mcp`.',
  },
  unsupported_background: {
    status: 422,
    message:
      'This request cannot run in the background. Leave `background` out, or send it to `POST /v1/responses` for a smith.',
  },
  conversation_not_found: {
    status: 404,
    message:
      'No conversation with this id is visible to this token. Correct the id, or create one with `POST /v1/conversations`.',
  },
  run_not_paused: {
    status: 409,
    message: 'The run is not waiting for anything. Read the run, and submit only while its status is `paused`.',
  },
  run_cancelled: {
    status: 409,
    message: 'The run was cancelled and does not go on. Start a new run, or replay this one.',
  },
  invalid_kind: {
    status: 422,
    message: 'The kind is not known. Use one of the values that this operation documents.',
  },
  invalid_decision: {
    status: 422,
    message: 'The decision is not known. Use `approve` or `reject`.',
  },
  replay_unsupported: {
    status: 422,
    message: 'This run cannot be replayed. Start a new run with the same input instead.',
  },
  resume_failed: {
    status: 500,
    message:
      'The run could not be resumed from its last step. Read the run; if it is still paused, submit again, otherwise replay it.',
  },
  run_failed: {
    status: 500,
    message: 'The run ended in an error. Read its events for the step that failed, then start a new run or replay it.',
  },
  model_key_missing: {
    status: 422,
    message:
      'There is no key for the provider of this model. Save one with `PUT /v1/tenant/model_keys/{provider}`, or choose another model.',
  },
  bedrock_unconfigured: {
    status: 422,
    message:
      'Amazon Bedrock is not set up for this project or installation. Save its credentials as a model key, or choose another model.',
  },
  model_request_failed: {
    status: 502,
    message:
      "The provider of the model refused or failed the request. Check the provider's status and the key's quota, then repeat the request or choose another model.",
  },
  structured_output_failed: {
    status: 502,
    message:
      'The model did not produce output that matches the schema. Repeat the request, simplify the schema, or choose another model.',
  },
  tool_loop_failed: {
    status: 502,
    message:
      "The turn could not be finished because its tool calls kept failing. Read the run's events, correct the tool, and start a new run.",
  },
} as const satisfies ErrorTexts;
