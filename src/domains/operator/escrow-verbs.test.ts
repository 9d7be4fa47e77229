import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { NAMESERVERS, startDomains } from '../../../test/support/domains.ts';
import { systemClock } from '../../kernel/clock/clock.ts';
import { createOperator } from './index.ts';

const service = await startDomains();
after(() => service.close());
const operator = createOperator({ db: service.db, clock: systemClock });

async function pageThrough<Page extends { readonly next_after: string | null }>(ask: (after: string) => Promise<Page>) {
  const pages: Page[] = [];
  for (let after: string | null = ''; after !== null; after = pages.at(-1)?.next_after ?? null)
    pages.push(await ask(after));
  return pages;
}

test('a deposit has every name that is with us once, in the order of names, and the contact of each', async () => {
  const names = ['escrow-c.com', 'escrow-a.com', 'escrow-b.com'];
  const workspace = await service.createWorkspace();
  await workspace.fund(100_000);
  await workspace.patch('/registrant', { name: 'Kim Example', contact: { city: 'London', country: 'GB' } });
  for (const domain of names) {
    assert.equal((await workspace.post('/domains', { domain, confirm_price: 11.9 })).status, 201);
    await workspace.get(`/domains/${domain}`);
  }
  const pages = await pageThrough((after) => operator.escrow_domains({ after, limit: 2 }));
  const domains = pages.flatMap((page) => page.domains);
  const all = domains.map(({ name }) => name);
  assert.equal(new Set(all).size, all.length);
  const ours = domains.filter(({ name }) => names.includes(name));
  assert.deepEqual(
    ours.map(({ name, nameservers, registrant }) => [name, nameservers, registrant]),
    names.toSorted().map((name) => [name, [...NAMESERVERS], workspace.userId]),
  );
  assert.match(ours[0]?.expires_at ?? '', /^\d{4}-\d\d-\d\dT/);

  const contactPages = await pageThrough((after) => operator.escrow_contacts({ after, limit: 2 }));
  const contacts = contactPages.flatMap((page) => page.contacts);
  const handles = contacts.map(({ handle }) => handle);
  assert.equal(new Set(handles).size, handles.length);
  for (const { name, registrant } of domains) assert.ok(handles.includes(registrant), name);
  const kim = contacts.find(({ handle }) => handle === workspace.userId);
  assert.deepEqual([kim?.name, kim?.city, kim?.country, kim?.street], ['Kim Example', 'London', 'GB', '']);
});
