import type { WorkspaceChange } from '../../operation.ts';
import { lockRegistrant, saveRegistrant } from '../../registrant.ts';
import type { RegistrantContact } from '../../tables.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { type RegistrantDependencies, renderRegistrant } from './get-registrant.ts';
import type { Registrant, RegistrantChange } from './schema.ts';

export function changeRegistrant({ registry }: RegistrantDependencies) {
  return async ({ body, caller, tx }: WorkspaceChange<{ body: RegistrantChange }>): Promise<Registrant> => {
    const db = workspaceDb(tx, caller.workspaceId);
    const before = await lockRegistrant(db);
    const after = {
      ...before,
      name: body.name ?? before.name,
      contact: mergeContact(before.contact, body.contact ?? {}),
    };
    await saveRegistrant(db, after);
    return renderRegistrant(registry, after);
  };
}

function mergeContact(before: RegistrantContact, change: NonNullable<RegistrantChange['contact']>): RegistrantContact {
  const members = Object.entries({ ...before, ...change }).filter(([, value]) => value !== null);
  return Object.fromEntries(members) as RegistrantContact;
}
