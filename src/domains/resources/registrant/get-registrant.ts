import type { Clock } from '../../../kernel/clock/clock.ts';
import { HttpReply } from '../../../kernel/http/operation.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import { NOT_KEPT } from '../../list-page.ts';
import type { WorkspaceRead } from '../../operation.ts';
import type { PriceBook } from '../../prices/price-book.ts';
import { getRegistrant, missingContact, type WorkspaceRegistrant } from '../../registrant.ts';
import type { Registry } from '../../registry/registry.ts';
import { type WorkspaceDb, workspaceDb } from '../../workspace-scope.ts';
import { renderAgent } from './render-agent.ts';
import { renderChange } from './render-change.ts';
import { renderVerification } from './render-verification.ts';
import type { Registrant } from './schema.ts';

export interface RegistrantDependencies {
  readonly clock: Clock;
  readonly jobs: Jobs;
  readonly prices: Pick<PriceBook, 'list'>;
  readonly registry: Pick<Registry, 'members'>;
}

export function showRegistrant(deps: RegistrantDependencies) {
  return async ({ caller, db }: WorkspaceRead): Promise<HttpReply<Registrant>> => {
    const scoped = workspaceDb(db, caller.workspaceId);
    const registrant = await renderRegistrant(deps, scoped, await getRegistrant(scoped));
    return new HttpReply(200, registrant, NOT_KEPT);
  };
}

export async function renderRegistrant(
  { clock, prices, registry }: RegistrantDependencies,
  db: WorkspaceDb,
  { name, email, contact }: Omit<WorkspaceRegistrant, 'id'>,
): Promise<Registrant> {
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
    verification: await renderVerification(db, clock.now()),
    change: await renderChange(db, clock.now()),
    designated_agent: await renderAgent(prices, db, { email }, clock.now()),
  };
}
