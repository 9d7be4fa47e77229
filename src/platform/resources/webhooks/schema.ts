/** Webhooks of a project, and their deliveries. */
import type { Static } from 'typebox';
import { pageQuery } from '../../../kernel/http/paging.ts';
import {
  closedObject,
  component,
  failsWith,
  missingFailsWith,
  moment,
  nullable,
  oneOf,
  timestamp,
} from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

const MAX_URL_LENGTH = 2_048;
const MAX_SELECTORS = 100;
const DEFAULT_GRACE_SECONDS = 86_400;
const MAX_GRACE_SECONDS = 604_800;
const PREVIOUS_END = 'Until then the secret that was replaced last is valid too.';
const STATUSES = ['pending', 'succeeded', 'dead'] as const;

const url = Type.String({
  maxLength: MAX_URL_LENGTH,
  description: '`https`, at public addresses alone. Checked again at every attempt and every redirect.',
  ...failsWith('invalid_url'),
  ...missingFailsWith('url_required'),
});

const events = Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
  maxItems: MAX_SELECTORS,
  description: 'Types (`run.completed`) and families (`agent.` or `agent`). Empty: every event.',
});

export const WebhookIn = component('WebhookIn', closedObject({ url, events: Type.Optional(nullable(events)) }));

export const WebhookPatch = component(
  'WebhookPatch',
  closedObject({
    url: Type.Optional(url),
    events: Type.Optional(events),
    active: Type.Optional(
      Type.Boolean({ description: 'False pauses it: what happens meanwhile is delivered when it goes on.' }),
    ),
  }),
);

export const RotateIn = component(
  'WebhookRotateIn',
  closedObject({
    grace_seconds: Type.Optional(
      nullable(Type.Integer({ minimum: 0, maximum: MAX_GRACE_SECONDS }), {
        description: `For so long the old secret is valid too, and deliveries carry a signature with each. ${DEFAULT_GRACE_SECONDS} (a day) when left out, at most ${MAX_GRACE_SECONDS}; 0 ends it at once, and every one before it.`,
      }),
    ),
  }),
);

export const ReplayIn = component('WebhookReplayIn', closedObject({ since: moment('Events of this time and later') }));

export const WebhookCreated = component(
  'WebhookCreated',
  Type.Object({
    id: Type.String(),
    secret: Type.String({ description: 'Signs the deliveries. Shown this once.' }),
  }),
);

export const WebhookRotated = component(
  'WebhookRotated',
  Type.Object({
    id: Type.String(),
    secret: Type.String({ description: 'Shown this once.' }),
    previous_secret_expires_at: nullable(timestamp(), { description: PREVIOUS_END }),
  }),
);

export const Webhook = component(
  'Webhook',
  Type.Object({
    id: Type.String(),
    url: Type.String(),
    events: Type.Array(Type.String()),
    active: Type.Boolean(),
    failing_since: nullable(timestamp(), { description: 'Every attempt since then has missed.' }),
    paused_reason: nullable(oneOf(['failing']), {
      description: '`failing`: nothing reached it for five days, and it was paused. Set `active` once it is mended.',
    }),
    previous_secret_expires_at: nullable(timestamp(), { description: PREVIOUS_END }),
    created_at: timestamp(),
    updated_at: timestamp(),
  }),
);

const Attempt = Type.Object({
  number: Type.Integer(),
  at: timestamp(),
  duration_ms: Type.Integer(),
  http_status: nullable(Type.Integer(), { description: 'Null: none came.' }),
  error: nullable(Type.String(), { description: 'Why it missed.' }),
});

export const Delivery = component(
  'WebhookDelivery',
  Type.Object({
    id: Type.String(),
    webhook_id: Type.String(),
    event_id: Type.String(),
    event_type: Type.String(),
    status: oneOf(STATUSES),
    attempt_count: Type.Integer(),
    last_http_status: nullable(Type.Integer()),
    last_error: nullable(Type.String()),
    next_attempt_at: nullable(timestamp(), { description: 'Null once it has succeeded or is dead.' }),
    attempts: Type.Array(Attempt, { description: 'The latest twenty, oldest first.' }),
    created_at: timestamp(),
    updated_at: timestamp(),
  }),
);

export const TestSent = component(
  'WebhookTestSent',
  Type.Object({ event_id: Type.String(), delivery_id: Type.String({ description: 'To be found in the deliveries.' }) }),
);

export const ReplayStarted = component(
  'WebhookReplayStarted',
  Type.Object({ webhook_id: Type.String(), status: Type.Literal('queued') }),
);

export const WebhookPath = Type.Object({ wid: Type.String() });
export const DeliveryPath = Type.Object({ wid: Type.String(), did: Type.String() });
export const DeliveryQuery = Type.Object({ status: Type.Optional(oneOf(STATUSES)), ...pageQuery });

export const graceSecondsOf = (body: RotateIn | undefined): number => body?.grace_seconds ?? DEFAULT_GRACE_SECONDS;

export type WebhookIn = Static<typeof WebhookIn>;
export type WebhookPatch = Static<typeof WebhookPatch>;
export type RotateIn = Static<typeof RotateIn>;
export type ReplayIn = Static<typeof ReplayIn>;
export type Webhook = Static<typeof Webhook>;
export type WebhookPath = Static<typeof WebhookPath>;
export type Delivery = Static<typeof Delivery>;
export type DeliveryPath = Static<typeof DeliveryPath>;
export type DeliveryQuery = Static<typeof DeliveryQuery>;
