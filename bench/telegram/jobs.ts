/** What the Telegram of the benchmark is asked to do; both cross a process boundary. */
import Type, { type Static } from 'typebox';
import { Summary } from '../statistics.ts';

const webhook = {
  /** Where messages are brought, and the secret that comes with them. */
  url: Type.String(),
  secret: Type.String(),
  text: Type.String(),
};

export const TelegramJob = Type.Union([
  /** Messages of many people at a steady rate: what is measured is the acknowledgement. It ends once all are answered. */
  Type.Object({
    kind: Type.Literal('acknowledge'),
    ...webhook,
    perSecond: Type.Integer(),
    durationMs: Type.Integer(),
    senders: Type.Integer(),
  }),
  /** Each person writes again once the answer has come and `pauseMs` are over. */
  Type.Object({
    kind: Type.Literal('converse'),
    ...webhook,
    senders: Type.Integer(),
    pauseMs: Type.Integer(),
    warmUpMs: Type.Integer(),
    durationMs: Type.Integer(),
    /** So many more, whose chats are answered 429 all the time. */
    limited: Type.Integer(),
  }),
]);
export type TelegramJob = Static<typeof TelegramJob>;

export const TelegramResult = Type.Object({
  /** From the webhook's first byte to its answer. */
  acknowledged: Summary,
  /** From the webhook's first byte to the first of `sendMessage`. Those of limited chats do not count. */
  answered: Type.Optional(Summary),
  answers: Type.Integer(),
  seconds: Type.Number(),
  /** Webhooks that were not answered 2xx, and messages that were not answered in time. */
  failures: Type.Integer(),
});
export type TelegramResult = Static<typeof TelegramResult>;
