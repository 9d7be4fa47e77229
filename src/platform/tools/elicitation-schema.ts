/** A question of a tool, as approvals and frames show it. */

import { component, jsonObject } from '../../kernel/http/schema.ts';
import { Type } from '../../kernel/http/type-builder.ts';

export const Elicitation = component(
  'Elicitation',
  Type.Object({
    message: Type.String(),
    requested_schema: jsonObject({ description: 'JSON Schema of the answer, which `submit` takes as `content`.' }),
  }),
);
