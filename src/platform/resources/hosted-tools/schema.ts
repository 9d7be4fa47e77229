/** Tools that the server itself runs. */
import type { Static } from 'typebox';
import { component, jsonObject, nullable } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

const HostedTool = component(
  'HostedTool',
  Type.Object({
    name: Type.String({ description: 'What `enabled_hosted_tools` names it by.' }),
    description: Type.String(),
    parameters: jsonObject({ description: 'JSON Schema of its arguments.' }),
    requires_approval: Type.Boolean(),
    available: Type.Boolean({ description: 'Whether the replica that answers can run it.' }),
    unavailable_reason: nullable(Type.String({ description: 'What is missing, and how to mend it.' })),
  }),
);

/** A fixed-size list: bare `{data}`. */
export const HostedToolList = component('HostedToolList', Type.Object({ data: Type.Array(HostedTool) }));

export type HostedToolList = Static<typeof HostedToolList>;
