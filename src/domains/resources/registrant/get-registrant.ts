import type { WorkspaceRead } from '../../operation.ts';
import { getRegistrant, missingContact, type WorkspaceRegistrant } from '../../registrant.ts';
import type { Registry } from '../../registry/registry.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { Registrant } from './schema.ts';

export interface RegistrantDependencies {
  readonly registry: Pick<Registry, 'members'>;
}

export function showRegistrant({ registry }: RegistrantDependencies) {
  return async ({ caller, db }: WorkspaceRead): Promise<Registrant> =>
    renderRegistrant(registry, await getRegistrant(workspaceDb(db, caller.workspaceId)));
}

export function renderRegistrant(
  registry: RegistrantDependencies['registry'],
  { name, email, contact }: Omit<WorkspaceRegistrant, 'id'>,
): Registrant {
  const { organization, street, city, region, postal_code, country, phone } = contact;
  return {
    name,
    email,
    contact: {
      organization: organization ?? null,
      street: street ?? null,
      city: city ?? null,
      region: region ?? null,
      postal_code: postal_code ?? null,
      country: country ?? null,
      phone: phone ?? null,
    },
    missing: missingContact(
      registry.members.map(({ habits }) => habits),
      contact,
    ),
  };
}
