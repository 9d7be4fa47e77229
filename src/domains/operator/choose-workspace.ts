/** Which workspace an operator means: the one that was named, or the only one. */
import type { Database } from '../../kernel/db/database.ts';
import { OperatorError } from '../../kernel/operator/index.ts';
import { systemDb } from '../workspace-scope.ts';

export interface FoundWorkspace {
  readonly id: string;
  readonly name: string;
}

/** Enough to choose from by eye. */
const LISTED = 20;

/** `wanted` is a workspace's id or a user's e-mail address. Throws OperatorError, listing the choice, unless there is exactly one. */
export async function chooseWorkspace(db: Database, wanted: string | undefined): Promise<FoundWorkspace> {
  let query = systemDb(db)
    .selectFrom('workspaces')
    .leftJoin('users', 'users.workspace_id', 'workspaces.id')
    .select(['workspaces.id', 'workspaces.name', 'users.email'])
    .orderBy('workspaces.id')
    .limit(LISTED);
  if (wanted !== undefined) {
    const emailKey = wanted.toLowerCase();
    query = query.where((eb) => eb.or([eb('workspaces.id', '=', wanted), eb('users.email_key', '=', emailKey)]));
  }
  const found = await query.execute();
  const [first] = found;
  if (first === undefined) {
    throw new OperatorError(
      wanted === undefined
        ? 'There is no workspace yet. POST /api/v1/accounts makes one.'
        : `There is no workspace ${wanted}. Name it by its id, wsp_…, or by the e-mail address that signed up.`,
    );
  }
  if (found.every(({ id }) => id === first.id)) return { id: first.id, name: first.name };
  const list = found.map(({ id, email, name }) => `  ${id}  ${email ?? ''}  ${name}`).join('\n');
  throw new OperatorError(`There are several workspaces: name one with --workspace.\n${list}`);
}
