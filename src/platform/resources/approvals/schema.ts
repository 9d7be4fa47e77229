/** An approval: a person's decision that a run waits for, on a gated tool call or on a tool server's question. */
import type { Static } from 'typebox';
import { pageQuery } from '../../../kernel/http/paging.ts';
import { component, jsonObject, nullable, oneOf, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { Elicitation } from '../../tools/elicitation-schema.ts';

export const APPROVAL_STATUSES = ['pending', 'approved', 'rejected', 'expired'] as const;

export const Approval = component(
  'Approval',
  Type.Object({
    id: Type.String(),
    run_id: nullable(Type.String()),
    smith_id: nullable(Type.String()),
    tool_call_id: nullable(Type.String()),
    tool: nullable(Type.String()),
    args: jsonObject({ description: 'What the tool would be called with.' }),
    elicitation: nullable(Elicitation, { description: 'The question that a tool server asks; null for a gated call.' }),
    status: oneOf(APPROVAL_STATUSES, {
      description: '`expired`: closed without a decision, as when its run is cancelled.',
    }),
    actor: nullable(Type.String(), { description: 'Who decided.' }),
    reason: nullable(Type.String()),
    created_at: nullable(timestamp()),
    resolved_at: nullable(timestamp()),
  }),
);

export const ApprovalQuery = Type.Object({ ...pageQuery, status: Type.Optional(oneOf(APPROVAL_STATUSES)) });

export const ApprovalPath = Type.Object({ id: Type.String() });

export type Approval = Static<typeof Approval>;
export type ApprovalQuery = Static<typeof ApprovalQuery>;
export type ApprovalPath = Static<typeof ApprovalPath>;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];
