/** The portfolio against the registry, both ways, and names that come from elsewhere, over EPP. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startDomainsOverEpp } from '../../../test/support/domains-over-epp.ts';
import { DAY_MS, done } from '../../../test/support/simulated-registry.ts';
import { OperatorError } from '../../kernel/operator/index.ts';
import { createOperator } from './index.ts';

const service = await startDomainsOverEpp();
after(() => service.close());
const { db, epp } = service;
const operator = createOperator({ db, clock: epp.clock, registry: service.registry });
const { core, ours } = epp;

async function auditAll() {
  const found: [string, string][] = [];
  let after: string | null = '';
  while (after !== null) {
    const page: Awaited<ReturnType<typeof operator.audit_portfolio>> = await operator.audit_portfolio({
      after,
      limit: 2,
    });
    found.push(...page.findings.map(({ name, problem }): [string, string] => [name, problem]));
    after = page.next_after;
  }
  return found;
}

test('what the registry says otherwise of the portfolio is found, and nothing else', async () => {
  await service.owner('a-fine.com', 'b-renewed.com', 'c-gone.com', 'd-deleted.com', 'e-fine.com');
  assert.deepEqual(await auditAll(), []);
  // By hand, at the registry.
  const { expiresAt } = done(await core.infoDomain(ours, { name: 'b-renewed.com' }));
  const day = expiresAt.toISOString().slice(0, 10);
  done(await core.renewDomain(ours, { name: 'b-renewed.com', currentExpiryDate: day, years: 1 }));
  done(await core.deleteDomain(ours, { name: 'c-gone.com' }));
  epp.clock.advance(6 * DAY_MS);
  done(await core.deleteDomain(ours, { name: 'd-deleted.com' }));
  const found = await auditAll();
  assert.deepEqual(
    found.map(([name]) => name),
    ['b-renewed.com', 'c-gone.com', 'd-deleted.com'],
  );
  const [renewed, gone, deleted] = found.map(([, problem]) => problem);
  assert.match(renewed ?? '', /nobody has paid for/);
  assert.match(gone ?? '', /no such name/);
  assert.match(deleted ?? '', /Nobody here has deleted it/);
});

test('of the registry’s own list, those in no portfolio are found', async () => {
  await service.owner('listed.com');
  await epp.register('stray.com');
  const { asked, findings } = await operator.audit_names({ names: ['listed.com', 'STRAY.com', 'nobody-has-it.com'] });
  assert.equal(asked, 3);
  assert.deepEqual(
    findings.map(({ name }) => name),
    ['stray.com'],
  );
  await assert.rejects(operator.audit_names({ names: ['not a name'] }), OperatorError);
});

test('a name of our account comes into a portfolio once, with the term that was paid for', async () => {
  await epp.register('adopted.com', 2);
  await epp.register('short.com', 2);
  const owner = await service.owner();
  const workspace = owner.workspaceId;
  assert.equal((await operator.import_name({ name: 'adopted.com', workspace })).imported, true);
  assert.equal((await operator.import_name({ name: 'short.com', workspace, paid_until: '2027-03-01' })).imported, true);
  await service.later(0);
  const shown = (await owner.get('/domains/adopted.com')).body;
  assert.deepEqual([shown.status, shown.renewal.billed_until], ['Active', shown.expires_at]);
  assert.equal((await owner.get('/domains/short.com')).body.renewal.billed_until, '2027-03-01T00:00:00.000Z');

  for (const [name, why] of [
    ['adopted.com', /in the portfolio of wsp_/],
    ['taken-elsewhere.com', /not have it with our registrar account/],
    ['not-registered.com', /not have it with our registrar account/],
  ] as const) {
    const { imported, reason } = await operator.import_name({ name, workspace });
    assert.equal(imported, false, name);
    assert.match(reason, why);
  }
});
