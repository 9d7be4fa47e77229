/** Rows that a sign-up makes. */
import type { Transaction } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import type { RegistrantContact } from '../../tables.ts';
import { type SystemDb, systemDb, workspaceDb } from '../../workspace-scope.ts';

export interface NewUser {
  readonly id: string;
  readonly email: string;
  readonly emailKey: string;
  readonly name: string;
  readonly contact: RegistrantContact;
}

export interface NewWorkspace {
  readonly id: string;
  readonly name: string;
}

export async function isEmailTaken(db: SystemDb, emailKey: string): Promise<boolean> {
  const user = await db.selectFrom('users').select('id').where('email_key', '=', emailKey).executeTakeFirst();
  return user !== undefined;
}

/** False when the address is taken; the transaction has to be rolled back then. The unique index decides between two at once. */
export async function insertWorkspaceWithUser(
  tx: Transaction,
  workspace: NewWorkspace,
  user: NewUser,
  now: Date,
): Promise<boolean> {
  await systemDb(tx)
    .insertInto('workspaces')
    .values({ id: workspace.id, name: workspace.name, created_at: now })
    .execute();
  const { id, email, emailKey, name, contact } = user;
  const { numInsertedOrUpdatedRows } = await workspaceDb(tx, workspace.id)
    .insertInto('users')
    .values({ id, email, email_key: emailKey, name, contact: json(contact), created_at: now })
    .onConflict((conflict) => conflict.column('email_key').doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}
