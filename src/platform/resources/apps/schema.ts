/** Apps: programs that an organization has let into its projects. */
import type { Static } from 'typebox';
import { component, nullable, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

export const AppInstall = component(
  'AppInstall',
  Type.Object({
    id: Type.String(),
    organization: Type.String(),
    client_id: Type.String({ description: 'The address of the app’s metadata document.' }),
    client_name: Type.String({ description: 'What the app calls itself.' }),
    project: Type.String({ description: 'Id of the project that it was let into.' }),
    scope: Type.String({ description: 'All that its tokens may do there, separated by blanks.' }),
    created_at: timestamp(),
    revoked_at: nullable(timestamp()),
  }),
);

export const AppPath = Type.Object({ id: Type.String() });

export type AppInstall = Static<typeof AppInstall>;
export type AppPath = Static<typeof AppPath>;
