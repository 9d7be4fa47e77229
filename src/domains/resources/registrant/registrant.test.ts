import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startDomainsOverEpp } from '../../../../test/support/domains-over-epp.ts';
import { refusal } from '../../../../test/support/orders.ts';
import { done } from '../../../../test/support/simulated-registry.ts';
import { readWallet } from '../../wallet/index.ts';

const service = await startDomainsOverEpp();
after(() => service.close());

const NOTHING = {
  organization: null,
  street: null,
  city: null,
  region: null,
  postal_code: null,
  country: null,
  phone: null,
};
const order = (domain: string) => ({ domain, confirm_price: 11.9 });

describe('an account that signed up without an address', () => {
  test('is told what the registry requires before money is set aside, gives it, and buys', async () => {
    const workspace = await service.createWorkspace();
    await workspace.fund(10_000);
    const { body: before } = await workspace.get('/registrant');
    assert.deepEqual([before.contact, before.missing], [NOTHING, ['city', 'country']]);
    const refused = await workspace.post('/domains', order('homeless.com'));
    assert.deepEqual(refusal(refused), [422, 'registration_failed']);
    assert.deepEqual(refused.body.details.missing, ['city', 'country']);
    assert.match(refused.body.details.message, /`contact\.city` and `contact\.country` to PATCH \/registrant/);
    const untouched = await readWallet(service.db, workspace.workspaceId);
    assert.deepEqual([untouched.availableCents, untouched.heldCents], [10_000, 0]);
    assert.deepEqual((await workspace.get('/domains')).body.domains, []);

    const half = await workspace.patch('/registrant', { contact: { city: 'Turin' } });
    assert.deepEqual([half.status, half.body.missing], [200, ['country']]);
    const whole = await workspace.patch('/registrant', { name: 'Ada King', contact: { country: 'IT' } });
    assert.deepEqual(whole.body.contact, { ...NOTHING, city: 'Turin', country: 'IT' });
    const bought = await workspace.post('/domains', order('homeless.com'));
    assert.deepEqual([bought.status, bought.body.status], [201, 'Completed'], bought.text);
    const { registrant } = done(await service.epp.core.infoDomain(service.epp.ours, { name: 'homeless.com' }));
    const [info] = done(await service.epp.core.infoContact(service.epp.ours, { id: registrant })).postalInfo;
    assert.deepEqual([info?.name, info?.city, info?.country], ['Ada King', 'Turin', 'IT']);
  });
});

test('what is absent stays, null removes, and nothing is half done', async () => {
  const workspace = await service.owner();
  const { body: before } = await workspace.get('/registrant');
  assert.deepEqual(before.missing, []);
  const { body: changed } = await workspace.patch('/registrant', { contact: { phone: null, organization: 'Kings' } });
  assert.deepEqual(changed, { ...before, contact: { ...before.contact, phone: null, organization: 'Kings' } });
  const refused = await workspace.patch('/registrant', { name: 'Nobody', contact: { country: 'Italy' } });
  assert.deepEqual([...refusal(refused), refused.body.details.param], [400, 'bad_request', 'contact.country']);
  assert.deepEqual((await workspace.get('/registrant')).body, changed);
});

test('bad_request: nothing to change, a blank, an unknown member, what is no address or no line of text', async () => {
  const workspace = await service.owner();
  for (const body of [
    {},
    { contact: {} },
    { name: ' ' },
    { contact: { city: '' } },
    { name: 'Ada\tKing' },
    { contact: { street: '1 Mill Lane\r\nFlat 2' } },
    { contact: { planet: 'Earth' } },
    { email: 'nobody' },
  ]) {
    assert.deepEqual(refusal(await workspace.patch('/registrant', body)), [400, 'bad_request'], JSON.stringify(body));
  }
});

test('a street may have lines', async () => {
  const workspace = await service.owner();
  const street = '1 Mill Lane\nFlat 2';
  const { body, text } = await workspace.patch('/registrant', { contact: { street } });
  assert.equal(body.contact?.street, street, text);
});

test('each workspace has its own', async () => {
  const [one, other] = [await service.owner(), await service.owner()];
  await one.patch('/registrant', { name: 'One' });
  assert.notEqual((await other.get('/registrant')).body.name, 'One');
});
