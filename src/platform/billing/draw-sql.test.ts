/** What usage draws from the wallet: exactly what it costs, whoever draws at the same time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { describeOnEachStore } from '../../../test/support/database.ts';
import type { Database } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import { auditWallets } from './audit.ts';
import { type DrawTerms, drawSql, UNITS_A_CENT, unitsAMicroDollar } from './draw-sql.ts';
import { book, listLedger, readBalance } from './ledger.ts';

const PLAIN: DrawTerms = { currency: 'eur', markupPercent: 0, usdRateMillionths: 1_000_000 };

/** An organization with these cents and two projects. */
async function makeOrganization(db: Database, cents: number) {
  const organizationId = mintId('org');
  await db.query({ text: 'insert into organizations (id, name) values ($1, $1)', values: [organizationId] });
  const projects = [mintId('proj'), mintId('proj')] as const;
  await db.query({
    text: `insert into projects (id, organization_id, name) select id, $2, id from unnest($1::text[]) as id`,
    values: [[...projects], organizationId],
  });
  if (cents > 0) {
    const credit = {
      organizationId,
      kind: 'adjustment',
      currency: 'eur',
      reference: mintId('adj'),
      description: '',
    } as const;
    assert.equal(await db.transaction((tx) => book(tx, { ...credit, amountCents: cents })), true);
  }
  return { organizationId, projects };
}

async function draw(db: Database, terms: DrawTerms, projectId: string, costMicros: number): Promise<void> {
  const source = 'select $1::text as project_id, $2::bigint as cost_micros';
  await db.query({
    text: `with ${drawSql(terms, { source, id: '$3' })}, done as (select 1) select * from done`,
    values: [projectId, costMicros, mintId('wtx')],
  });
}

async function carryOf(db: Database, organizationId: string): Promise<number> {
  const { rows } = await db.query<{ carry: number }>({
    text: 'select carry from wallets where organization_id = $1',
    values: [organizationId],
  });
  return rows[0]?.carry ?? Number.NaN;
}

describeOnEachStore('draws', {}, (current) => {
  test('book whole cents and carry the rest', async () => {
    const { db } = current();
    const { organizationId, projects } = await makeOrganization(db, 100);
    // A cent is 10,000 micro-dollars: two of three draws reach none.
    for (const costMicros of [9_999, 0, 1, 25_000]) await draw(db, PLAIN, projects[0], costMicros);
    assert.equal((await readBalance(db, organizationId)).balance_cents, 100 - 1 - 2);
    assert.equal(await carryOf(db, organizationId), Number(UNITS_A_CENT) / 2);
    const ledger = await listLedger(db, organizationId, { limit: 10 });
    assert.deepEqual(
      ledger.map(({ kind, amount_cents }) => [kind, amount_cents]),
      [
        ['usage', -2],
        ['usage', -1],
        ['adjustment', 100],
      ],
    );
    assert.deepEqual(await auditWallets(db), []);
  });

  test('cost the markup and the rate too, exactly', async () => {
    const { db } = current();
    const { organizationId, projects } = await makeOrganization(db, 0);
    // 1.5 dollars, 0.92 euros each, 25 % more: 172.5 cents.
    await draw(db, { currency: 'eur', markupPercent: 25, usdRateMillionths: 920_000 }, projects[0], 1_500_000);
    assert.equal((await readBalance(db, organizationId)).balance_cents, -172);
    assert.equal(await carryOf(db, organizationId), Number(UNITS_A_CENT) / 2);
    assert.deepEqual(await auditWallets(db), []);
  });

  test('of whatever costs and terms differ from the exact sum by less than a cent', async () => {
    const { db } = current();
    const terms = fc.record({
      currency: fc.constant('eur'),
      markupPercent: fc.integer({ min: 0, max: 10_000 }),
      usdRateMillionths: fc.integer({ min: 1, max: 1_000_000_000_000 }),
    });
    const costs = fc.array(fc.integer({ min: 0, max: 2_000_000_000 }), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(terms, costs, async (drawTerms, costsMicros) => {
        const { organizationId, projects } = await makeOrganization(db, 0);
        for (const [index, costMicros] of costsMicros.entries()) {
          await draw(db, drawTerms, projects[index % 2 === 0 ? 0 : 1], costMicros);
        }
        const exact = costsMicros.reduce((sum, cost) => sum + BigInt(cost), 0n) * unitsAMicroDollar(drawTerms);
        const { rows } = await db.query<{ cents: string }>({
          text: 'select (-balance_cents)::text as cents from wallets where organization_id = $1',
          values: [organizationId],
        });
        assert.equal(BigInt(rows[0]?.cents ?? '-1'), exact / UNITS_A_CENT);
        assert.equal(BigInt(await carryOf(db, organizationId)), exact % UNITS_A_CENT);
      }),
      { numRuns: 20 },
    );
    assert.deepEqual(await auditWallets(db), []);
  });

  test('that arrive at once, with credits between them, add up', async () => {
    const { db } = current();
    const { organizationId, projects } = await makeOrganization(db, 1_000);
    await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        index % 6 === 0
          ? db.transaction((tx) =>
              book(tx, {
                organizationId,
                kind: 'topup',
                amountCents: 10,
                currency: 'eur',
                reference: `payment:${organizationId}:${index}`,
                description: '',
              }),
            )
          : draw(db, PLAIN, projects[index % 2 === 0 ? 0 : 1], 3_333),
      ),
    );
    const drawn = Math.floor((50 * 3_333) / 10_000);
    assert.equal((await readBalance(db, organizationId)).balance_cents, 1_000 + 10 * 10 - drawn);
    assert.deepEqual(await auditWallets(db), []);
  });
});

describeOnEachStore('the ledger', {}, (current) => {
  test('takes no change, and nothing that does not sum to zero', async () => {
    const { db } = current();
    const { organizationId } = await makeOrganization(db, 10);
    for (const text of [
      'update wallet_entries set amount_cents = 1',
      'delete from wallet_entries',
      'truncate wallet_entries',
      'truncate wallet_transactions cascade',
      `update wallet_transactions set kind = 'refund'`,
      'delete from wallet_transactions',
    ]) {
      await assert.rejects(db.query({ text }), /append-only/, text);
    }
    const lopsided = db.transaction(async (tx) => {
      const { rows } = await tx.query<{ id: string }>({
        text: `insert into wallet_transactions (organization_id, id, kind, description, reference)
               values ($1, $2, 'adjustment', '', $2) returning id`,
        values: [organizationId, mintId('wtx')],
      });
      await tx.query({
        text: `insert into wallet_entries (organization_id, transaction_id, position, account, amount_cents)
               values ($1, $2, 1, 'balance', 5)`,
        values: [organizationId, rows[0]?.id],
      });
    });
    await assert.rejects(lopsided, /does not sum to zero/);
    assert.deepEqual(await auditWallets(db), []);
  });

  test('books a thing once, and refuses another currency', async () => {
    const { db } = current();
    const { organizationId } = await makeOrganization(db, 0);
    const credit = {
      organizationId,
      kind: 'topup',
      amountCents: 5,
      currency: 'eur',
      reference: `payment:${mintId('pay')}`,
      description: '',
    } as const;
    const booked = await Promise.all(Array.from({ length: 8 }, () => db.transaction((tx) => book(tx, credit))));
    assert.equal(booked.filter(Boolean).length, 1);
    const dollars = { ...credit, currency: 'usd', reference: mintId('pay') };
    await assert.rejects(
      db.transaction((tx) => book(tx, dollars)),
      /holds eur, and usd cannot be booked/,
    );
    assert.equal((await readBalance(db, organizationId)).balance_cents, 5);
    await assert.rejects(
      db.transaction((tx) => book(tx, { ...credit, amountCents: 0 })),
      RangeError,
    );
  });

  test('that does not equal its wallets is found', async () => {
    const { db } = current();
    const { organizationId, projects } = await makeOrganization(db, 10);
    await draw(db, PLAIN, projects[0], 12_345);
    await db.query({
      text: 'update wallets set balance_cents = balance_cents + 1, carry = carry + 1 where organization_id = $1',
      values: [organizationId],
    });
    const findings = await auditWallets(db);
    assert.equal(findings.length, 2, findings.join('\n'));
    assert.ok(findings.every((finding) => finding.includes(organizationId)));
    await db.query({
      text: 'update wallets set balance_cents = balance_cents - 1, carry = carry - 1 where organization_id = $1',
      values: [organizationId],
    });
  });
});
