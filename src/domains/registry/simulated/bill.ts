/** What the registry charges its registrars, and takes back: a delete within a grace period, or a transfer, ends what was charged for. */

import { sql } from 'kysely';
import type { Executor } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import type { AccountBalance, Credit, CreditOf, Fees, PriceList } from './registry-core.ts';
import { Refusal } from './replies.ts';
import { type RegistryDb, type RegistryTables, registryDb } from './tables.ts';

export type ChargeKind = RegistryTables['registry_charges']['kind'];

/** Years below zero are taken back. An application has none, and says what it costs. */
export type Charge = { readonly registrar: string; readonly at: Date } & (
  | { readonly kind: Exclude<ChargeKind, 'application'>; readonly years: number }
  | { readonly kind: 'application'; readonly years: 0; readonly cents: number }
);

/** What charges are made with, inside the command's transaction. */
interface Billing {
  readonly db: RegistryDb;
  readonly prices: PriceList;
  readonly credit: CreditOf;
}

export async function recordCharges(
  { credit, db, prices }: Billing,
  name: string,
  charges: readonly Charge[],
): Promise<void> {
  const fees = prices(name.slice(name.indexOf('.') + 1), name);
  if (charges.length === 0 || fees === undefined) return;
  const rows = charges.map((charge) => ({
    registrar: charge.registrar,
    name,
    kind: charge.kind,
    years: charge.years,
    amount_cents: centsOf(fees, charge),
    charged_at: charge.at,
  }));
  await db.insertInto('registry_charges').values(rows).execute();
  for (const { registrar, amount_cents: chargedCents, charged_at: at } of rows) {
    await warnOfLowBalance(db, { credit, chargedCents, registrar, at });
  }
}

function centsOf(fees: Fees, charge: Charge): number {
  switch (charge.kind) {
    case 'create':
      return fees.createCents * charge.years;
    case 'renew':
    case 'auto_renew':
      return fees.renewCents * charge.years;
    case 'transfer':
      return fees.transferCents;
    case 'trade':
      return fees.tradeCents ?? 0;
    case 'restore':
      return fees.restoreCents + fees.renewCents * charge.years;
    case 'application':
      return charge.cents;
  }
}

/** Takes back all that this registrar was charged for a name that it registered a few days ago, but for its application and its trades. */
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
    .where('kind', 'not in', ['application', 'trade'])
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

/**
 * Refuses (2104) what the registrar's credit does not cover. Its commands that cost something wait for each other, so that no two spend
 * the same money. What is charged later, once it is done, is not counted.
 */
export async function requireCredit(
  { credit, db, registrar }: { readonly credit: CreditOf; readonly db: RegistryDb; readonly registrar: string },
  feeCents: number,
): Promise<void> {
  const given = credit(registrar);
  if (given === undefined) return;
  await db.selectFrom('registry_registrars').select('id').where('id', '=', registrar).forUpdate().execute();
  const left = await leftOf(db, registrar, given);
  if (left >= feeCents) return;
  throw new Refusal(2104, `this costs ${formatEuros(feeCents)} EUR, and ${formatEuros(left)} EUR are left`);
}

/** Refuses (2303) where the registrar may spend what it likes. */
export async function readAccount({
  credit,
  db,
  registrar,
}: Omit<Billing, 'prices'> & { readonly registrar: string }): Promise<AccountBalance> {
  const given = credit(registrar);
  if (given === undefined) throw new Refusal(2303, 'the credit of this registrar is not limited');
  const availableCents = await leftOf(db, registrar, given);
  return { creditLimitCents: given.cents, balanceCents: given.cents - availableCents, availableCents };
}

async function leftOf(db: RegistryDb, registrar: string, { cents }: Credit): Promise<number> {
  const { spent } = await db
    .selectFrom('registry_charges')
    .select(sql<number>`coalesce(sum(amount_cents), 0)::bigint`.as('spent'))
    .where('registrar', '=', registrar)
    .executeTakeFirstOrThrow();
  return cents - Number(spent);
}

/** Once, when a charge leaves less than the registrar's threshold. */
async function warnOfLowBalance(
  db: RegistryDb,
  { credit, chargedCents, registrar, at }: { credit: CreditOf; chargedCents: number; registrar: string; at: Date },
): Promise<void> {
  const given = credit(registrar);
  if (given?.warnBelowCents === undefined) return;
  const { cents: creditLimitCents, warnBelowCents: thresholdCents } = given;
  const availableCents = await leftOf(db, registrar, given);
  if (availableCents >= thresholdCents || availableCents + chargedCents < thresholdCents) return;
  const data = { type: 'lowBalance', creditLimitCents, thresholdCents, availableCents } as const;
  const message = { registrar, queued_at: at, name: '', text: 'Low account balance', data: json(data) };
  await db.insertInto('registry_messages').values(message).execute();
}

function formatEuros(cents: number): string {
  return (cents / 100).toFixed(2);
}
