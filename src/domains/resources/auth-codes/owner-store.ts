import type { WorkspaceDb } from '../../workspace-scope.ts';

/** Whoever signed the workspace up: the registrant of its names. Throws where nobody did. */
export async function getOwner(db: WorkspaceDb): Promise<{ readonly name: string; readonly email: string }> {
  return db
    .selectFrom('users')
    .select(['name', 'email'])
    .orderBy('created_at')
    .orderBy('id')
    .limit(1)
    .executeTakeFirstOrThrow();
}
