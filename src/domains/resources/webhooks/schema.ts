/** Webhooks of a workspace, and their deliveries. */
import type { Static } from 'typebox';
import { closedObject, component, nullable, oneOf, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { EVENT_TYPES } from '../../events/index.ts';
import { ListQuery, nextAfter } from '../../list-page.ts';

const MAX_URL_LENGTH = 2_048;
const MAX_SELECTORS = 100;
const DEFAULT_GRACE_SECONDS = 86_400;
const MAX_GRACE_SECONDS = 604_800;
const STATUSES = ['pending', 'succeeded', 'dead'] as const;

const id = Type.String({ minLength: 1, maxLength: 100 });
export const WebhookPath = Type.Object({ webhook_id: id });
export type WebhookPath = Static<typeof WebhookPath>;
export const DeliveryPath = Type.Object({ webhook_id: id, delivery_id: id });
export type DeliveryPath = Static<typeof DeliveryPath>;

const url = Type.String({
  minLength: 1,
  maxLength: MAX_URL_LENGTH,
  description: '`https`, at public addresses alone. Checked again at every attempt and every redirect.',
});
const events = Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
  maxItems: MAX_SELECTORS,
  description: 'Types (`order.completed`) and families (`domain`). Empty, or left out: every event.',
});

export const WebhookCreate = component('WebhookCreate', closedObject({ url, events: Type.Optional(events) }));
export type WebhookCreate = Static<typeof WebhookCreate>;

export const WebhookUpdate = component(
  'WebhookUpdate',
  closedObject({
    url: Type.Optional(url),
    events: Type.Optional(events),
    active: Type.Optional(
      Type.Boolean({ description: 'False pauses it: what happens meanwhile is delivered when it goes on.' }),
    ),
  }),
);
export type WebhookUpdate = Static<typeof WebhookUpdate>;

const members = {
  id: Type.String(),
  url: Type.String(),
  events: Type.Array(Type.String()),
  active: Type.Boolean(),
  failing_since: nullable(timestamp(), { description: 'Every attempt since then has missed.' }),
  paused_reason: nullable(oneOf(['failing']), {
    description: '`failing`: nothing reached it for five days, and it was paused. Set `active` once it is mended.',
  }),
  previous_secret_expires_at: nullable(timestamp(), {
    description: 'Until then the secret that was replaced last signs too.',
  }),
  created_at: timestamp(),
  updated_at: timestamp(),
};
const secret = Type.String({ description: 'Signs the deliveries. Shown this once.' });

export const Webhook = component('Webhook', Type.Object(members));
export type Webhook = Static<typeof Webhook>;
export const WebhookWithSecret = component('WebhookWithSecret', Type.Object({ ...members, secret }));
export type WebhookWithSecret = Static<typeof WebhookWithSecret>;
export const WebhookList = Type.Object({ webhooks: Type.Array(Webhook), next_after: nextAfter });
export type WebhookList = Static<typeof WebhookList>;
export const DeletedWebhook = Type.Object({ deleted: Type.Literal(true), id: Type.String() });

export const SecretRotation = component(
  'SecretRotation',
  closedObject({
    grace_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_GRACE_SECONDS,
        default: DEFAULT_GRACE_SECONDS,
        description:
          'For so long the old secret is valid too, and deliveries carry a signature with each. 0 ends it at once, and every one before it.',
      }),
    ),
  }),
);
export type SecretRotation = Static<typeof SecretRotation>;
export const graceSecondsOf = (body: SecretRotation | undefined): number =>
  body?.grace_seconds ?? DEFAULT_GRACE_SECONDS;

export const TestSent = Type.Object({
  event_id: Type.String(),
  delivery_id: Type.String({ description: 'To be found in the deliveries.' }),
});

export const Delivery = component(
  'Delivery',
  Type.Object({
    id: Type.String(),
    webhook_id: Type.String(),
    event_id: Type.String(),
    event_type: oneOf(EVENT_TYPES),
    status: oneOf(STATUSES),
    attempt_count: Type.Integer(),
    last_http_status: nullable(Type.Integer()),
    last_error: nullable(Type.String()),
    next_attempt_at: nullable(timestamp(), { description: 'Null once it has succeeded or is dead.' }),
    created_at: timestamp(),
    updated_at: timestamp(),
  }),
);
export type Delivery = Static<typeof Delivery>;
export const DeliveryList = Type.Object({ deliveries: Type.Array(Delivery), next_after: nextAfter });
export type DeliveryList = Static<typeof DeliveryList>;
export const DeliveryQuery = Type.Object({ ...ListQuery.properties, status: Type.Optional(oneOf(STATUSES)) });
export type DeliveryQuery = Static<typeof DeliveryQuery>;
