/** Hosted pages, as their visitors see them. */
import type { Static } from 'typebox';
import { closedObject, component, nullable, oneOf, unionByType } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { MAX_PASSWORD_CHARS } from '../../channels/index.ts';
import { MAX_THREAD_ID_CHARS } from '../../engine/index.ts';

const MAX_VISITOR_CHARS = 128;
const MAX_MESSAGE_CHARS = 16_000;
const MAX_RUN_ID_CHARS = 64;

export const HostedPagePath = Type.Object({ depid: Type.String() });

export const HostedPageOut = component(
  'HostedPage',
  Type.Object({
    id: Type.String(),
    title: Type.String(),
    greeting: Type.String({ description: 'Empty for none.' }),
    requires_password: Type.Boolean(),
    status: oneOf(['pending', 'active', 'disconnected'], {
      description: '`disconnected`: nobody is reached here any more.',
    }),
  }),
);

const visitorId = Type.String({
  minLength: 1,
  maxLength: MAX_VISITOR_CHARS,
  description: 'Made up by the browser and kept there: whoever has it reads on. Take 128 random bits.',
});
const password = Type.Optional(
  nullable(Type.String({ maxLength: MAX_PASSWORD_CHARS }), { description: 'Of a page that requires one.' }),
);

export const HostedChatIn = component(
  'HostedChatIn',
  closedObject({
    visitor_id: visitorId,
    message: Type.String({ minLength: 1, maxLength: MAX_MESSAGE_CHARS }),
    thread_id: Type.Optional(
      nullable(Type.String({ minLength: 1, maxLength: MAX_THREAD_ID_CHARS }), {
        description: 'A conversation of this visitor’s, as an answer named it. Left out: a new one.',
      }),
    ),
    password,
  }),
);

export const HostedStopIn = component(
  'HostedStopIn',
  closedObject({
    visitor_id: visitorId,
    run_id: Type.String({ minLength: 1, maxLength: MAX_RUN_ID_CHARS }),
    password,
  }),
);

const status = oneOf(['in_progress', 'paused', 'completed', 'failed', 'cancelled'], {
  description: '`paused`: waits for a decision of somebody else. The last three are final.',
});

export const HostedChatOut = component(
  'HostedChat',
  Type.Object({
    run_id: nullable(Type.String(), { description: 'Null where no turn began.' }),
    thread_id: nullable(Type.String()),
    status,
    message: Type.String({
      description: 'What is said, in Markdown; one neutral sentence where something went wrong.',
    }),
  }),
);

export const HostedStopOut = component(
  'HostedStop',
  Type.Object({ run_id: Type.String(), status: Type.Literal('cancelled') }),
);

const part = Type.Integer({ description: 'A blank line stands between the texts of two parts.' });

export const HostedFrame = unionByType('HostedFrame', {
  status: component(
    'HostedStatusFrame',
    Type.Object({
      v: Type.Literal(1),
      run_id: nullable(Type.String()),
      type: Type.Literal('status'),
      thread_id: nullable(Type.String()),
      status,
      message: Type.Optional(Type.String({ description: 'A sentence for the visitor.' })),
    }),
  ),
  text: component(
    'HostedTextFrame',
    Type.Object({
      v: Type.Literal(1),
      run_id: Type.String(),
      type: Type.Literal('text'),
      text: Type.String({ description: 'What follows on what came before in its part.' }),
      part,
    }),
  ),
  reset: component(
    'HostedResetFrame',
    Type.Object({
      v: Type.Literal(1),
      run_id: Type.String(),
      type: Type.Literal('reset'),
      part: Type.Integer({ description: 'The parts from this one on are said again: drop what was shown of them.' }),
    }),
  ),
});

export type HostedPagePath = Static<typeof HostedPagePath>;
export type HostedPageOut = Static<typeof HostedPageOut>;
export type HostedChatIn = Static<typeof HostedChatIn>;
export type HostedStopIn = Static<typeof HostedStopIn>;
