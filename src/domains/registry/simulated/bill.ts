/** What the registry charges its registrars, and takes back: a delete within a grace period, or a transfer, ends what was charged for. */

import type { Executor } from '../../../kernel/db/database.ts';
import type { Fees, PriceList } from './registry-core.ts';
import { type RegistryDb, type RegistryTables, registryDb } from './tables.ts';

export type ChargeKind = RegistryTables['registry_charges']['kind'];

/** Years below zero are taken back. */
export interface Charge {
  readonly registrar: string;
  readonly kind: ChargeKind;
  readonly years: number;
  readonly at: Date;
}

export async function recordCharges(
  db: RegistryDb,
  prices: PriceList,
  name: string,
  charges: readonly Charge[],
): Promise<void> {
  const fees = prices(name.slice(name.indexOf('.') + 1), name);
  if (charges.length === 0 || fees === undefined) return;
  const rows = charges.map(({ registrar, kind, years, at }) => ({
    registrar,
    name,
    kind,
    years,
    amount_cents: centsOf(fees, kind, years),
    charged_at: at,
  }));
  await db.insertInto('registry_charges').values(rows).execute();
}

function centsOf(fees: Fees, kind: ChargeKind, years: number): number {
  switch (kind) {
    case 'create':
      return fees.createCents * years;
    case 'renew':
    case 'auto_renew':
      return fees.renewCents * years;
    case 'transfer':
      return fees.transferCents;
    case 'restore':
      return fees.restoreCents + fees.renewCents * years;
  }
}

/** Takes back all that this registrar was charged for a name that it registered a few days ago. */
export async function takeRegistrationBack(
  db: RegistryDb,
  {
    name,
    registrar,
    since,
    at,
  }: { readonly name: string; readonly registrar: string; readonly since: Date; readonly at: Date },
): Promise<void> {
  const charged = await db
    .selectFrom('registry_charges')
    .select(['kind', 'years', 'amount_cents'])
    .where('name', '=', name)
    .where('registrar', '=', registrar)
    .where('charged_at', '>=', since)
    .execute();
  const back = charged.map(({ kind, years, amount_cents: cents }) => ({
    registrar,
    name,
    kind,
    years: -years,
    amount_cents: -cents,
    charged_at: at,
  }));
  if (back.length > 0) await db.insertInto('registry_charges').values(back).execute();
}

/** The bill of a registrar, oldest first. Amounts in cents. */
export async function readBill(executor: Executor, registrar: string) {
  return registryDb(executor)
    .selectFrom('registry_charges')
    .select(['name', 'kind', 'years', 'amount_cents', 'charged_at'])
    .where('registrar', '=', registrar)
    .orderBy('id')
    .execute();
}
