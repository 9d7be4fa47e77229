import type { WorkspaceDb } from '../../workspace-scope.ts';

/** The user who signed the workspace up: the registrant of its names. Throws where there is none. */
export async function getOwner(db: WorkspaceDb): Promise<{ readonly name: string; readonly email: string }> {
  return db
    .selectFrom('users')
    .select(['name', 'email'])
    .orderBy('created_at')
    .orderBy('id')
    .limit(1)
    .executeTakeFirstOrThrow();
}
