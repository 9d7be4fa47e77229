import { component, oneOf } from '../../kernel/http/schema.ts';
import { Type } from '../../kernel/http/type-builder.ts';

/** Who did it, as events and runs show it. */
export const Actor = component(
  'Actor',
  Type.Object({
    kind: oneOf(['smith', 'tenant', 'operator'], {
      description:
        '`smith`: a smith token, or the smith itself on a scheduled or channel-driven turn. `tenant`: a tenant-admin token (`id`: the project), or a key of its organization (`id`: the organization). `operator`: staff of the installation.',
    }),
    id: Type.String(),
    token_id: Type.String({ description: 'Empty when no token acted.' }),
    email: Type.String({ description: 'Empty for machines.' }),
  }),
);
