/** Budgets: what usage may cost, of the project or a part of it, in a period. */
import type { Static } from 'typebox';
import {
  closedObject,
  component,
  failsWith,
  missingFailsWith,
  nullable,
  oneOf,
  timestamp,
} from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

const SCOPES = ['tenant', 'agent', 'smith', 'customer'] as const;
const PERIODS = ['daily', 'weekly', 'monthly', 'total'] as const;
const ACTIONS = ['warn', 'block'] as const;

export const MICROS_PER_DOLLAR = 1_000_000;
/** A billion US dollars: all sums of micro-dollars stay exact as numbers. */
const MAX_LIMIT = 1_000_000_000;

const limit = Type.Number({
  minimum: 0,
  maximum: MAX_LIMIT,
  description: `US dollars, with up to six decimals, at most ${MAX_LIMIT}. 0 is spent from the start: it blocks every call.`,
  ...failsWith('invalid_limit'),
  ...missingFailsWith('invalid_limit'),
});

const action = oneOf(ACTIONS, {
  description:
    '`block`: once it is spent, calls are refused with `budget_exceeded`. `warn`: events tell of it, and nothing else happens.',
  ...failsWith('invalid_action'),
});

export const BudgetIn = component(
  'BudgetIn',
  closedObject({
    scope: oneOf(SCOPES),
    scope_id: Type.Optional(
      nullable(Type.String({ maxLength: 128 }), {
        description: 'Of the agent, smith or customer; none for the tenant.',
      }),
    ),
    period: Type.Optional(
      oneOf(PERIODS, {
        default: 'monthly',
        description: 'In UTC; weeks begin on Monday.',
        ...failsWith('invalid_period'),
      }),
    ),
    limit,
    action: Type.Optional(action),
  }),
);

export const BudgetPatch = component(
  'BudgetPatch',
  closedObject({ limit: Type.Optional(nullable(limit)), action: Type.Optional(nullable(action)) }),
);

const budget = {
  id: Type.String(),
  scope: oneOf(SCOPES),
  scope_id: nullable(Type.String()),
  period: oneOf(PERIODS),
  limit: Type.Number({ description: 'US dollars.' }),
  currency: Type.Literal('usd'),
  action: oneOf(ACTIONS),
  created_at: nullable(timestamp()),
};

export const Budget = component('Budget', Type.Object(budget));

export const BudgetStatus = component(
  'BudgetStatus',
  Type.Object({
    ...budget,
    period_start: timestamp({ description: 'Of the present period; the epoch where the period is `total`.' }),
    period_key: Type.String({ description: '`2026-11-22`, `2026-W47`, `2026-11` or `total`.' }),
    spent: Type.Number({ description: 'US dollars, exact to the millionth.' }),
    pct: Type.Number({ description: 'Percent of the limit, to two decimals; 100 where the limit is 0.' }),
    over: Type.Boolean({ description: 'Whether the limit is reached.' }),
  }),
);

export const BudgetPath = Type.Object({ bid: Type.String() });

export type BudgetIn = Static<typeof BudgetIn>;
export type BudgetPatch = Static<typeof BudgetPatch>;
export type Budget = Static<typeof Budget>;
export type BudgetStatus = Static<typeof BudgetStatus>;
export type BudgetPath = Static<typeof BudgetPath>;
