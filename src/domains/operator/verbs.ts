/** What an operator can ask the domain service for, and what is answered. */
import { Type } from '../../kernel/http/type-builder.ts';
import type { AnswerOf, OperatorVerbs } from '../../kernel/operator/index.ts';

const workspace = Type.Optional(Type.String());
const scope = Type.Union([Type.Literal('read'), Type.Literal('write')]);

const wallet = {
  workspace_id: Type.String(),
  workspace_name: Type.String(),
  available_cents: Type.Integer(),
  held_cents: Type.Integer(),
};

const difference = Type.Object({ name: Type.String(), problem: Type.String() });

const order = Type.Object({
  id: Type.String(),
  workspace_id: Type.String(),
  kind: Type.String(),
  name: Type.String(),
  years: Type.Integer(),
  amount_cents: Type.Integer(),
  paid_with: Type.String(),
  state: Type.String(),
  /** Commands sent to the registry for it. */
  submissions: Type.Integer(),
  created_at: Type.String(),
  next_look_at: Type.Union([Type.String(), Type.Null()]),
  attention_since: Type.Union([Type.String(), Type.Null()]),
  attention_reason: Type.Union([Type.String(), Type.Null()]),
  ended_at: Type.Union([Type.String(), Type.Null()]),
  /** Of an application in a launch, as the registry calls it. */
  application_id: Type.Union([Type.String(), Type.Null()]),
  /** The phase that it is of, what of the amount it costs, and since when that is spent. */
  application: Type.Union([
    Type.Object({
      phase: Type.String(),
      name: Type.Optional(Type.String()),
      amount_cents: Type.Integer(),
      refunded_when_lost: Type.Boolean(),
      taken_at: Type.Union([Type.String(), Type.Null()]),
    }),
    Type.Null(),
  ]),
  /** Of a trademark claim: what its customer accepted, and when. */
  claims_notice: Type.Union([Type.Object({ id: Type.String(), accepted_at: Type.String() }), Type.Null()]),
  /** Until when its customer may accept the notice of a trademark claim that it waits for. */
  notice_until: Type.Union([Type.String(), Type.Null()]),
  /** As its customer reads it. */
  error: Type.Union([Type.String(), Type.Null()]),
  /** The registry's own words of its last refusal. */
  registry_said: Type.Union([Type.String(), Type.Null()]),
  /** It is sent again by itself, and at once when the registry's balance covers it. */
  waits_for_credit: Type.Boolean(),
  /** Why the operator ended it. */
  settled_by_hand: Type.Union([Type.String(), Type.Null()]),
});

const zoneKey = Type.Object({
  name: Type.String(),
  dnssec: Type.String(),
  /** `signing`, `parent` or `retiring`; null: no new key is under way. */
  roll_state: Type.Union([Type.String(), Type.Null()]),
  key_since: Type.Union([Type.String(), Type.Null()]),
  next_look_at: Type.Union([Type.String(), Type.Null()]),
  /** As its owner reads it. */
  problem: Type.Union([Type.String(), Type.Null()]),
  /** The registry's own words of it. */
  registry_said: Type.Union([Type.String(), Type.Null()]),
});

/** `workspace` is a workspace's id or a user's e-mail address; it may be left out where there is one workspace. */
const verbs = {
  mint_token: {
    request: Type.Object({ workspace, scope, name: Type.String() }),
    answer: Type.Object({
      id: Type.String(),
      token: Type.String(),
      scope,
      name: Type.String(),
      workspace_id: Type.String(),
      workspace_name: Type.String(),
    }),
  },
  /** `token` is its id, or the token itself. */
  revoke_token: {
    request: Type.Object({ token: Type.String() }),
    answer: Type.Object({ id: Type.String(), workspace_id: Type.String(), revoked_at: Type.String() }),
  },
  top_up: {
    request: Type.Object({
      workspace,
      cents: Type.Integer({ minimum: 1, maximum: 100_000_000 }),
      note: Type.String({ maxLength: 500 }),
    }),
    answer: Type.Object({ ...wallet, credited_cents: Type.Integer(), reference: Type.String() }),
  },
  /** Names whose present term nobody has paid for, and of which a step towards their end did not succeed. */
  unpaid_names: {
    request: Type.Object({}),
    answer: Type.Object({
      names: Type.Array(
        Type.Object({
          name: Type.String(),
          workspace_id: Type.String(),
          paid_until: Type.String(),
          /** As the registry showed it last. */
          expires_at: Type.Union([Type.String(), Type.Null()]),
          suspended_at: Type.Union([Type.String(), Type.Null()]),
          problem: Type.String(),
          tried_at: Type.Union([Type.String(), Type.Null()]),
        }),
      ),
    }),
  },
  /** Registrants who have not confirmed their addresses, those first whose names are suspended, or will be. */
  unverified_registrants: {
    request: Type.Object({}),
    answer: Type.Object({
      registrants: Type.Array(
        Type.Object({
          workspace_id: Type.String(),
          name: Type.String(),
          email: Type.String(),
          asked_at: Type.String(),
          mailed_at: Type.Union([Type.String(), Type.Null()]),
          /** Null: no message was accepted yet, so the days have not begun. */
          suspends_at: Type.Union([Type.String(), Type.Null()]),
          suspended_names: Type.Integer(),
          /** Of the last message, or of a name that its registry does not let be suspended. */
          problem: Type.Union([Type.String(), Type.Null()]),
        }),
      ),
    }),
  },
  /** The operator has verified the registrant by other means. */
  verify_registrant: {
    request: Type.Object({ workspace, reason: Type.String({ minLength: 1, maxLength: 500 }) }),
    answer: Type.Object({ workspace_id: Type.String(), workspace_name: Type.String(), email: Type.String() }),
  },
  /** The registrant has signed up with a wrong address. */
  correct_registrant: {
    request: Type.Object({ workspace, email: Type.String({ minLength: 3, maxLength: 400 }) }),
    answer: Type.Object({
      workspace_id: Type.String(),
      workspace_name: Type.String(),
      email: Type.String(),
      previous_email: Type.String(),
    }),
  },
  /** The operator has reason to doubt the address. */
  ask_registrant: {
    request: Type.Object({ workspace }),
    answer: Type.Object({ workspace_id: Type.String(), workspace_name: Type.String() }),
  },
  /** Names of portfolios that the registry says are not ours, the longest missing first. */
  missing_names: {
    request: Type.Object({}),
    answer: Type.Object({
      /** More than one name in a thousand: no name is retired, and only the missing ones are asked about. */
      is_stopped: Type.Boolean(),
      names: Type.Array(
        Type.Object({
          name: Type.String(),
          workspace_id: Type.String(),
          missing_since: Type.String(),
          sightings: Type.Integer(),
          /** A message of the registry said that it was deleted, or handed over. */
          announced: Type.Boolean(),
          expires_at: Type.Union([Type.String(), Type.Null()]),
        }),
      ),
    }),
  },
  /** Takes a missing name out of its portfolio without waiting for its day. */
  retire_name: {
    request: Type.Object({ name: Type.String({ maxLength: 1_000 }) }),
    answer: Type.Object({ name: Type.String(), workspace_id: Type.String() }),
  },
  /** Puts a name back into the portfolio that it was retired from. */
  recover_name: {
    request: Type.Object({ name: Type.String({ maxLength: 1_000 }) }),
    /** `charged_cents`: what had been paid back for the name, and is paid again. */
    answer: Type.Object({ name: Type.String(), workspace_id: Type.String(), charged_cents: Type.Integer() }),
  },
  /** Messages of the registry that nothing follows from by itself, in the order in which they came. */
  unknown_messages: {
    request: Type.Object({}),
    answer: Type.Object({
      messages: Type.Array(
        Type.Object({
          number: Type.Integer(),
          /** Empty: it came before registries were told apart. */
          registry: Type.String(),
          /** The registry's. */
          message_id: Type.String(),
          queued_at: Type.String(),
          received_at: Type.String(),
          /** Empty where it is about no name. */
          name: Type.String(),
          text: Type.String(),
          /** That the registry has queued it, each time under another id. */
          times: Type.Integer(),
        }),
      ),
      /** Registries whose oldest message cannot be read, or not be removed: those behind it wait. */
      unreadable: Type.Array(Type.Object({ registry: Type.String(), since: Type.String(), problem: Type.String() })),
    }),
  },
  /** Our accounts at the registries of the configuration, as the registries have told of them. */
  registry_balances: {
    request: Type.Object({}),
    answer: Type.Object({
      balances: Type.Array(
        Type.Object({
          registry: Type.String(),
          /** Null: it has not told. */
          available_cents: Type.Union([Type.Integer(), Type.Null()]),
          currency: Type.Union([Type.String(), Type.Null()]),
          observed_at: Type.Union([Type.String(), Type.Null()]),
          warn_below_cents: Type.Union([Type.Integer(), Type.Null()]),
          /** When it last refused something for want of credit, where nothing was seen of the account since. */
          refused_at: Type.Union([Type.String(), Type.Null()]),
          is_low: Type.Boolean(),
          orders_waiting: Type.Integer(),
        }),
      ),
    }),
  },
  /** Begins a new key of a signed zone. */
  roll_key: { request: Type.Object({ name: Type.String({ maxLength: 1_000 }) }), answer: zoneKey },
  /** Of zones whose key is being changed, or of all that are signed. */
  zone_keys: { request: Type.Object({ all: Type.Boolean() }), answer: Type.Object({ zones: Type.Array(zoneKey) }) },
  /** It is seen to. */
  dismiss_message: {
    request: Type.Object({ number: Type.Integer() }),
    answer: Type.Object({ number: Type.Integer() }),
  },
  /** Orders that do not end by themselves, the oldest need first. */
  orders_needing_attention: { request: Type.Object({}), answer: Type.Object({ orders: Type.Array(order) }) },
  show_order: { request: Type.Object({ id: Type.String() }), answer: order },
  /** Has it looked at with the next sweep. */
  retry_order: { request: Type.Object({ id: Type.String() }), answer: order },
  /** Ends it as the operator has found out: what is held for it is captured, or given back. */
  end_order: {
    request: Type.Object({
      id: Type.String(),
      end: Type.Union([Type.Literal('completed'), Type.Literal('failed')]),
      reason: Type.String({ minLength: 1, maxLength: 500 }),
    }),
    answer: order,
  },
  /** Names that are with our registrar account and in no portfolio, as orders came upon them. */
  unassigned_names: {
    request: Type.Object({}),
    answer: Type.Object({
      names: Type.Array(
        Type.Object({
          name: Type.String(),
          registry_id: Type.String(),
          /** Null: the registry has not shown it. */
          expires_at: Type.Union([Type.String(), Type.Null()]),
          found_at: Type.String(),
          order_id: Type.String(),
        }),
      ),
    }),
  },
  /** Puts an unassigned name into a workspace's portfolio, paid for until its term ends. */
  assign_name: {
    request: Type.Object({ name: Type.String({ maxLength: 1_000 }), workspace }),
    answer: Type.Object({ name: Type.String(), workspace_id: Type.String(), workspace_name: Type.String() }),
  },
  /** Active names behind `after`, in the order of the alphabet: what the registry says otherwise of them. */
  audit_portfolio: {
    request: Type.Object({
      after: Type.Optional(Type.String({ maxLength: 253 })),
      limit: Type.Integer({ minimum: 1, maximum: 500 }),
    }),
    answer: Type.Object({
      asked: Type.Integer(),
      findings: Type.Array(difference),
      next_after: Type.Union([Type.String(), Type.Null()]),
    }),
  },
  /** Which of these are with our registrar account and in no portfolio. */
  audit_names: {
    request: Type.Object({ names: Type.Array(Type.String({ maxLength: 1_000 }), { maxItems: 500 }) }),
    answer: Type.Object({ asked: Type.Integer(), findings: Type.Array(difference) }),
  },
  /** Takes a name of our registrar account into a workspace's portfolio; `paid_until`: default the end of its term. */
  import_name: {
    request: Type.Object({
      name: Type.String({ maxLength: 1_000 }),
      workspace,
      paid_until: Type.Optional(Type.String({ maxLength: 40 })),
    }),
    answer: Type.Object({ name: Type.String(), imported: Type.Boolean(), reason: Type.String() }),
  },
  /** Names that are with us behind `after`, in the order of their bytes, for a deposit with a data escrow agent. */
  escrow_domains: {
    request: Type.Object({
      after: Type.Optional(Type.String({ maxLength: 253 })),
      limit: Type.Integer({ minimum: 1, maximum: 500 }),
    }),
    answer: Type.Object({
      domains: Type.Array(
        Type.Object({
          name: Type.String(),
          /** The registry's id of it (ROID). */
          registry_id: Type.String(),
          statuses: Type.Array(Type.String()),
          /** Null, as what follows: the registry has not shown it. */
          created_at: Type.Union([Type.String(), Type.Null()]),
          updated_at: Type.Union([Type.String(), Type.Null()]),
          expires_at: Type.Union([Type.String(), Type.Null()]),
          nameservers: Type.Array(Type.String()),
          /** Below the name, with their addresses, as the registry told them last. */
          hosts: Type.Array(Type.Object({ name: Type.String(), addresses: Type.Array(Type.String()) })),
          ds_records: Type.Array(
            Type.Object({
              key_tag: Type.Integer(),
              algorithm: Type.Integer(),
              digest_type: Type.Integer(),
              digest: Type.String(),
            }),
          ),
          registrant: Type.String(),
        }),
      ),
      next_after: Type.Union([Type.String(), Type.Null()]),
    }),
  },
  /** Registrants of such names behind `after`, in the order of their handles; with `since`, of those too that have left since then. */
  escrow_contacts: {
    request: Type.Object({
      after: Type.Optional(Type.String({ maxLength: 253 })),
      since: Type.Optional(Type.String({ maxLength: 40 })),
      limit: Type.Integer({ minimum: 1, maximum: 500 }),
    }),
    answer: Type.Object({
      contacts: Type.Array(
        Type.Object({
          handle: Type.String(),
          created_at: Type.String(),
          name: Type.String(),
          organization: Type.String(),
          street: Type.String(),
          city: Type.String(),
          region: Type.String(),
          postal_code: Type.String(),
          country: Type.String(),
          email: Type.String(),
          phone: Type.String(),
        }),
      ),
      next_after: Type.Union([Type.String(), Type.Null()]),
    }),
  },
  /** Payments by card that were disputed, the newest first. */
  list_disputes: {
    request: Type.Object({}),
    answer: Type.Object({
      disputes: Type.Array(
        Type.Object({
          id: Type.String(),
          workspace_id: Type.String(),
          payment_id: Type.String(),
          amount_cents: Type.Integer(),
          /** `open`, `won` or `lost`. */
          state: Type.String(),
          created_at: Type.String(),
          /** What the workspace has now. */
          available_cents: Type.Integer(),
        }),
      ),
    }),
  },
  show_wallet: {
    request: Type.Object({ workspace }),
    answer: Type.Object({
      ...wallet,
      /** The last bookings, newest first; cents are what they moved in and out of `available` and `held`. */
      bookings: Type.Array(
        Type.Object({
          at: Type.String(),
          kind: Type.String(),
          reference: Type.String(),
          description: Type.String(),
          available_cents: Type.Integer(),
          held_cents: Type.Integer(),
        }),
      ),
    }),
  },
} as const;

export type DomainVerbs = typeof verbs;
export const domainVerbs: OperatorVerbs<DomainVerbs> = { service: 'domains', verbs };

export type Bookings = AnswerOf<DomainVerbs, 'show_wallet'>['bookings'];
