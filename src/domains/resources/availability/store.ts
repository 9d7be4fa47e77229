import type { Executor } from '../../../kernel/db/database.ts';

/**
 * Those of the names that any workspace has or is acquiring. Of all workspaces: availability is the same for everyone, and
 * the answer does not say whose they are.
 */
export async function findOwnedNames(db: Executor, names: readonly string[]): Promise<Set<string>> {
  const { rows } = await db.query<{ name: string }>({
    text: "select name from domains.domains where name = any($1::text[]) and state <> 'gone'",
    values: [names],
  });
  return new Set(rows.map(({ name }) => name));
}
