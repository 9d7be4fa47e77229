import type { Transaction } from '../../kernel/db/database.ts';
import { systemDb, workspaceDb } from '../workspace-scope.ts';

/** Lines that name who pays: the registrant as it is now, or the workspace where it has none. */
export async function readBuyer(tx: Transaction, workspaceId: string): Promise<string[]> {
  const user = await workspaceDb(tx, workspaceId)
    .selectFrom('users')
    .select(['name', 'email', 'contact'])
    .orderBy('created_at')
    .orderBy('id')
    .executeTakeFirst();
  if (user === undefined) {
    const workspaces = systemDb(tx).selectFrom('workspaces').select('name').where('id', '=', workspaceId);
    return [(await workspaces.executeTakeFirstOrThrow()).name];
  }
  const { organization, street, postal_code, city, region, country } = user.contact;
  const place = [postal_code, city].filter((part) => part !== undefined).join(' ');
  return [organization, user.name, street, place, region, country, user.email].filter(
    (line): line is string => line !== undefined && line !== '',
  );
}
