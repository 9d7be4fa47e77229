import { pageErrors } from '../../../kernel/http/operation-errors.ts';
import { open } from '../../access/operation.ts';
import type { Engine } from '../../engine/index.ts';
import type { HostedChat } from '../../hosted/index.ts';
import { chatWithPage } from './chat-with-page.ts';
import { getHostedPage } from './get-hosted-page.ts';
import {
  HostedChatIn,
  HostedChatOut,
  HostedFrame,
  HostedPageOut,
  HostedPagePath,
  HostedStopIn,
  HostedStopOut,
} from './schema.ts';
import { showHostedPage } from './show-hosted-page.ts';
import { stopHostedRun } from './stop-hosted-run.ts';

export function hostedOperations(deps: { readonly engine: Engine; readonly hostedChat: HostedChat }) {
  return [
    open.read({
      id: 'hosted.get',
      method: 'GET',
      path: '/v1/hosted/{depid}',
      posture: 'public',
      summary: 'Get a hosted page',
      params: HostedPagePath,
      reply: HostedPageOut,
      errors: ['not_found'],
      handler: getHostedPage,
    }),
    open.turn({
      id: 'hosted.chat',
      method: 'POST',
      path: '/v1/hosted/{depid}/chat',
      posture: 'public',
      summary: 'Write to a hosted page',
      description:
        'Answers once the turn rests, or with `Accept: text/event-stream` while it comes. Send an `Idempotency-Key`: the same ' +
        'request with it, and with `Last-Event-ID`, goes on in the same run, whatever cut it off. Bounded by address, by new ' +
        'visitors a day and by the project’s budgets; what keeps the page from answering is told as `failed`, and no more.',
      streams: true,
      frames: HostedFrame,
      idempotent: true,
      params: HostedPagePath,
      body: HostedChatIn,
      example: { visitor_id: '4f1d2c7be0a9483f', message: 'Write 20 words' },
      reply: HostedChatOut,
      errors: [
        'not_found',
        'invalid_state',
        'password_required',
        'rate_limit_exceeded',
        'conversation_locked',
        'idempotency_key_reused',
        'invalid_input',
      ],
      handler: chatWithPage(deps),
    }),
    open.read({
      id: 'hosted.page',
      method: 'GET',
      path: '/hosted/{depid}',
      posture: 'public',
      summary: 'Open a hosted page',
      description: 'For browsers: one document that loads nothing else.',
      params: HostedPagePath,
      answers: ['html'],
      errorDialect: pageErrors(),
      errors: ['not_found'],
      handler: showHostedPage,
    }),
    open.turn({
      id: 'hosted.stop',
      method: 'POST',
      path: '/v1/hosted/{depid}/stop',
      posture: 'public',
      summary: 'Stop the answer to a message',
      description: 'Of a run of this visitor’s. Acknowledged in any state; one that has ended keeps its status.',
      params: HostedPagePath,
      body: HostedStopIn,
      example: { visitor_id: '4f1d2c7be0a9483f', run_id: 'run_01J8Z3M6QK4T9W2X5Y7B8C9D0E' },
      reply: HostedStopOut,
      errors: ['not_found', 'password_required', 'rate_limit_exceeded'],
      handler: stopHostedRun(deps),
    }),
  ];
}
