/** A customer: the company or person on whose behalf smiths work, for grouping and budgets. */
import type { Static } from 'typebox';
import {
  boundedObject,
  closedObject,
  component,
  failsWith,
  jsonObject,
  missingFailsWith,
  nullable,
  propertiesOf,
  timestamp,
} from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { MAX_METADATA_BYTES } from '../../configuration/schema.ts';
import { BudgetStatus } from '../budgets/index.ts';
import { UsageAmounts } from '../usage/index.ts';

const name = Type.String({
  minLength: 1,
  maxLength: 200,
  ...failsWith('invalid_name'),
  ...missingFailsWith('name_required'),
});

const externalIds = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: { type: 'string', maxLength: 512 },
  propertyNames: { type: 'string', maxLength: 128 },
  maxProperties: 50,
  description: 'The customer’s ids in other systems, by system name: up to 50, names of up to 128 characters.',
});

const metadata = boundedObject({ members: 50, bytes: MAX_METADATA_BYTES });

export const Customer = component(
  'Customer',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    external_ids: Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' } }),
    metadata: jsonObject(),
    smith_count: Type.Integer({ description: 'Live smiths that work for this customer.' }),
    created_at: nullable(timestamp()),
  }),
);

/** As one is got: with what it uses and may use. */
export const CustomerDetail = component(
  'CustomerDetail',
  Type.Object({
    ...propertiesOf(Customer),
    usage: Type.Object(
      { from: Type.String({ format: 'date' }), to: Type.String({ format: 'date' }), ...propertiesOf(UsageAmounts) },
      { description: 'This month so far, without what external systems report. `cost` is in US dollars.' },
    ),
    budgets: Type.Array(BudgetStatus, { description: 'Its own budgets, as they stand in their present periods.' }),
  }),
);

export const CustomerCreate = component(
  'CustomerCreate',
  closedObject({ name, external_ids: Type.Optional(externalIds), metadata: Type.Optional(metadata) }),
);

/** Null clears: the ids and metadata become empty. A name cannot be cleared: null leaves it as it is. */
export const CustomerPatch = component(
  'CustomerPatch',
  closedObject({
    name: Type.Optional(nullable(name)),
    external_ids: Type.Optional(nullable(externalIds)),
    metadata: Type.Optional(nullable(metadata)),
  }),
);

export const CustomerPath = Type.Object({ cid: Type.String() });

export type Customer = Static<typeof Customer>;
export type CustomerDetail = Static<typeof CustomerDetail>;
export type CustomerCreate = Static<typeof CustomerCreate>;
export type CustomerPatch = Static<typeof CustomerPatch>;
export type CustomerPath = Static<typeof CustomerPath>;
