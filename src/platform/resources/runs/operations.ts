import { pageOf, pageQuery } from '../../../kernel/http/paging.ts';
import { moment, oneOf } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { project } from '../../access/operation.ts';
import type { Engine } from '../../engine/index.ts';
import { cancelRun } from './cancel-run.ts';
import { createRun, readSmithAhead } from './create-run.ts';
import { RunStreamFrame } from './frame-schema.ts';
import { getRun } from './get-run.ts';
import { listRuns, listSmithRuns } from './list-runs.ts';
import { replayRun } from './replay-run.ts';
import { RUN_STATUSES, Run, RunCancelAck, RunIn, RunPath, RunReplayIn, SmithPath, Submit } from './schema.ts';
import { streamRunEvents } from './stream-run-events.ts';
import { submitRun } from './submit-run.ts';

const TURN_ERRORS = [
  'conversation_locked',
  'concurrency_limit_exceeded',
  'budget_exceeded',
  'model_key_missing',
  'bedrock_unconfigured',
  'agent_unpublished',
  'invalid_variables',
  'idempotency_in_progress',
  'idempotency_key_reused',
] as const;

export function runOperations({ engine }: { engine: Engine }) {
  return [
    project.turn({
      id: 'smiths.runs.create',
      method: 'POST',
      path: '/v1/smiths/{sid}/runs',
      posture: 'any',
      scope: 'runs:write',
      summary: 'Start a run',
      description:
        'Answers with the run once it rests (completed, paused, failed or cancelled), or with its SSE stream when ' +
        '`stream` is true. `Prefer: respond-async` answers at once, `Prefer: wait=N` after at most N seconds. A server that ' +
        'is going away answers with the run as it stands: one that is still `in_progress` goes on elsewhere.',
      status: 201,
      // The stream of a repeated Idempotency-Key: one `run.duplicate` frame that points to the run.
      alsoStatus: [200],
      streams: true,
      frames: RunStreamFrame,
      idempotent: true,
      readAhead: readSmithAhead,
      params: SmithPath,
      body: RunIn,
      example: { input: [{ role: 'user', content: 'Write 20 words' }] },
      reply: Run,
      errors: [
        ...TURN_ERRORS,
        'conversation_not_found',
        'invalid_input',
        'too_many_inputs',
        'invalid_tool_choice',
        'invalid_response_format',
        'invalid_reasoning_effort',
        'unknown_provider',
      ],
      handler: createRun(engine),
    }),
    project.read({
      id: 'smiths.runs.list',
      method: 'GET',
      path: '/v1/smiths/{sid}/runs',
      posture: 'any',
      scope: 'runs:read',
      summary: 'List a smith’s runs, newest first',
      params: SmithPath,
      query: Type.Object(pageQuery),
      reply: pageOf(Run),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listSmithRuns,
    }),
    project.read({
      id: 'smiths.runs.get',
      method: 'GET',
      path: '/v1/smiths/{sid}/runs/{rid}',
      posture: 'any',
      scope: 'runs:read',
      summary: 'Get a run',
      params: RunPath,
      reply: Run,
      handler: getRun,
    }),
    project.turn({
      id: 'smiths.runs.events',
      method: 'GET',
      path: '/v1/smiths/{sid}/runs/{rid}/events',
      posture: 'any',
      scope: 'runs:read',
      summary: 'Stream a run’s timeline',
      description:
        'Server-sent events from the first frame, or behind `Last-Event-ID`; live until the run rests. Each frame’s ' +
        'data is `{v, run_id, seq, type, data, created_at}`; `type` says what `data` has.',
      streams: 'only',
      params: RunPath,
      reply: RunStreamFrame,
      handler: streamRunEvents(engine),
    }),
    project.turn({
      id: 'smiths.runs.submit',
      method: 'POST',
      path: '/v1/smiths/{sid}/runs/{rid}/submit',
      posture: 'any',
      scope: 'runs:write|approvals:write',
      summary: 'Answer what a paused run waits for',
      description:
        'Bringing a tool’s result takes the scope `runs:write`, deciding an approval `approvals:write`. A run whose smith has been archived is `not_found` ' +
        'here: it can be read and cancelled, but does not go on.',
      streams: true,
      idempotent: true,
      frames: RunStreamFrame,
      params: RunPath,
      body: Submit,
      example: { kind: 'approval', approval_id: 'apr_01J8Z3M6QK4T9W2X5Y7B8C9D0E', decision: 'approve' },
      reply: Run,
      errors: [
        'run_not_paused',
        'run_cancelled',
        'invalid_state',
        'invalid_kind',
        'invalid_decision',
        'invalid_input',
        'conversation_locked',
        'concurrency_limit_exceeded',
        'budget_exceeded',
      ],
      handler: submitRun(engine),
    }),
    project.turn({
      id: 'smiths.runs.replay',
      method: 'POST',
      path: '/v1/smiths/{sid}/runs/{rid}/replay',
      posture: 'any',
      scope: 'runs:write',
      summary: 'Ask a run’s question again, as a new run',
      description:
        'The new run has a thread of its own that holds the conversation as it stood, and runs with the smith’s ' +
        'configuration of today. An archived smith’s runs are `not_found` here: it starts no turns.',
      status: 201,
      // The stream of a repeated Idempotency-Key: one `run.duplicate` frame that points to the run.
      alsoStatus: [200],
      streams: true,
      frames: RunStreamFrame,
      idempotent: true,
      params: RunPath,
      body: Type.Optional(RunReplayIn),
      example: { stream: false },
      reply: Run,
      errors: [...TURN_ERRORS, 'replay_unsupported'],
      handler: replayRun(engine),
    }),
    project.turn({
      id: 'smiths.runs.cancel',
      method: 'POST',
      path: '/v1/smiths/{sid}/runs/{rid}/cancel',
      posture: 'any',
      scope: 'runs:write',
      summary: 'Cancel a run',
      description:
        'Stops the turn wherever it is; the upstream call is closed. Acknowledged in any state: a run that has ended keeps ' +
        'its status, and cancelling twice is one. Works for runs of archived smiths too.',
      params: RunPath,
      reply: RunCancelAck,
      handler: cancelRun(engine),
    }),
    project.read({
      id: 'runs.list',
      method: 'GET',
      path: '/v1/runs',
      posture: 'any',
      scope: 'runs:read',
      summary: 'List the project’s runs, newest first',
      description: 'A smith token sees its own smith’s runs.',
      query: Type.Object({
        ...pageQuery,
        smith_id: Type.Optional(Type.String({ maxLength: 512 })),
        agent_id: Type.Optional(Type.String({ maxLength: 512 })),
        status: Type.Optional(oneOf(RUN_STATUSES)),
        external_id_prefix: Type.Optional(Type.String({ maxLength: 256 })),
        since: Type.Optional(moment('Runs created at this time and later')),
      }),
      reply: pageOf(Run),
      errors: ['invalid_cursor', 'invalid_limit', 'smith_mismatch'],
      handler: listRuns,
    }),
  ];
}
