/** Changes of registrants that take the consent of both, at a registry over EPP. */
import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, describe, test } from 'node:test';
import type { Message } from '../../src/domains/mail/index.ts';
import { createOperator } from '../../src/domains/operator/index.ts';
import type { Share } from '../conformance/take-turns.ts';
import { NEEDS_CHROMIUM, startChromium } from './browser.ts';
import type { TestWorkspace } from './domains.ts';
import { startDomainsOverEpp } from './domains-over-epp.ts';
import { refusal, startOrders } from './orders.ts';
import { pricesWithConsent } from './prices.ts';
import { done, testContact } from './simulated-registry.ts';
import { eventually } from './turns.ts';

export async function testRegistrantChanges(share: Share): Promise<void> {
  const soakTest = share === 'all' ? test : undefined;
  const DAY_MS = 86_400_000;
  const CONSENT = 'Please consent to the change of the holder of domains';
  const CHANGED = 'The holder of domains has changed';

  const outbox: Message[] = [];
  let failures = 0;
  const mailer = {
    async send(message: Message) {
      if (failures-- > 0) throw new Error('the mail server is away');
      outbox.push(message);
    },
  };
  const prices = pricesWithConsent({ com: 60, ai: 0 });
  const service = await startDomainsOverEpp({ mailer, prices, endpoint: { locksNewNames: true } });
  const { anybody, answerWrongly, deliver, epp, owner } = service;
  after(() => service.close());
  afterEach(() => service.letNamesGo());
  beforeEach(() => {
    failures = 0;
    answerWrongly(undefined);
    deliver(undefined);
  });

  const emailOf = ({ userId }: TestWorkspace) => `${userId}@example.com`;
  const mailsTo = (to: string, subject = CONSENT) =>
    outbox.filter((mail) => mail.to === to && mail.subject === subject);
  const codeIn = ({ text }: Message) => /^http\S+\/api\/v1\/consent#(\S+)$/m.exec(text)?.[1] ?? assert.fail(text);
  /** The code of the message with this number, once it has come. */
  async function codeTo(to: string, number = 1): Promise<string> {
    return codeIn(await eventually(() => mailsTo(to)[number - 1], `message ${number} to ${to}`));
  }
  const give = (code: string) => anybody.post('/registrant/change/consent', { code });
  const registrantOf = async (workspace: TestWorkspace) => (await workspace.get('/registrant')).body;

  /** What is due of changes at the registry. The second run is one that began after the first. */
  async function work(): Promise<void> {
    await service.domains.resendChanges();
    await service.domains.resendChanges();
  }

  async function holderOf(name: string) {
    const { contacts, registrant } = done(await epp.core.infoDomain(epp.ours, { name }));
    const { email, postalInfo } = done(await epp.core.infoContact(epp.ours, { id: registrant }));
    const isAlone = contacts.every(({ id }) => id === registrant);
    return {
      name: postalInfo[0]?.name,
      organization: postalInfo[0]?.organization,
      email,
      isAlone,
      roles: contacts.length,
    };
  }
  async function cityOf(name: string) {
    const { registrant } = done(await epp.core.infoDomain(epp.ours, { name }));
    return done(await epp.core.infoContact(epp.ours, { id: registrant })).postalInfo[0]?.city;
  }
  const statusesOf = async (name: string) => done(await epp.core.infoDomain(epp.ours, { name })).statuses;

  describe('another name of the registrant', () => {
    test('waits for the consent of who reads the mail, and is told to the registry then', async () => {
      const workspace = await owner('sold.com');
      const before = await holderOf('sold.com');
      const { body } = await workspace.patch('/registrant', { name: 'Grace Hopper', contact: { city: 'Arlington' } });
      assert.deepEqual([body.name, body.contact.city], ['Test', 'Arlington'], 'only what says who it is waits');
      const { asked_at, expires_at, ...change } = body.change;
      assert.deepEqual(change, {
        name: 'Grace Hopper',
        organization: null,
        email: emailOf(workspace),
        consents: { present: null, next: null },
        transfer_lock: true,
      });
      assert.equal(Date.parse(expires_at) - Date.parse(asked_at), 14 * DAY_MS);
      const code = await codeTo(emailOf(workspace));
      assert.match(mailsTo(emailOf(workspace))[0]?.text ?? '', /until now {2}Test \(.*\n {2}then {7}Grace Hopper \(/);
      assert.equal((await fetch(`${service.url}/consent#${code}`)).status, 200);
      await work();
      assert.deepEqual(await holderOf('sold.com'), before);

      const given = await give(code);
      assert.deepEqual([given.status, given.body], [200, { status: 'Changed' }], given.text);
      const after = await registrantOf(workspace);
      assert.deepEqual([after.name, after.change, after.verification.state], ['Grace Hopper', null, 'verified']);
      await work();
      assert.deepEqual(await holderOf('sold.com'), { ...before, name: 'Grace Hopper' });
      assert.deepEqual([before.isAlone, before.roles], [true, 3]);
      await eventually(() => mailsTo(emailOf(workspace), CHANGED)[0], 'the message about the change');
      const { events } = (await workspace.get('/events')).body;
      const told = events.find(({ type }: { type: string }) => type === 'registrant.changed');
      assert.deepEqual(told?.data, {
        name: 'Grace Hopper',
        organization: null,
        email: emailOf(workspace),
        previous: { name: 'Test', organization: null, email: emailOf(workspace) },
        consented_by: 'registrants',
      });
    });

    test('locks transfers for sixty days, where the TLD does, unless the registrant does not want that', async () => {
      const workspace = await owner('bolted.com');
      const other = await workspace.post('/domains', { domain: 'bolted.ai', duration: 2, confirm_price: 159.8 });
      assert.equal(other.status, 201, other.text);
      await workspace.patch('/registrant', { name: 'Bolted' });
      await give(await codeTo(emailOf(workspace)));
      const until = new Date(epp.clock.now().getTime() + 60 * DAY_MS).toISOString();
      await work();
      const locked = (await workspace.get('/domains/bolted.com')).body;
      assert.deepEqual([locked.transfer_locked_until, locked.registrar_lock], [until, true]);
      assert.equal((await workspace.get('/domains/bolted.ai')).body.transfer_locked_until, null);
      const unlock = () => workspace.patch('/domains/bolted.com/settings', { registrar_lock: false });
      const refused = await unlock();
      assert.deepEqual([...refusal(refused), refused.body.details.param], [400, 'bad_request', 'registrar_lock']);
      epp.clock.advance(60 * DAY_MS);
      assert.equal((await unlock()).status, 200);

      await workspace.patch('/registrant', { name: 'Free', transfer_lock: false });
      await give(await codeTo(emailOf(workspace), 2));
      await work();
      assert.equal((await workspace.get('/domains/bolted.com')).body.transfer_locked_until, until);
      assert.equal((await unlock()).status, 200);
    });

    test('is so at once where no TLD of the names wants consents, and is told to the registry, as the rest of the contact is', async () => {
      const workspace = await owner();
      const bought = await workspace.post('/domains', { domain: 'plain.co.uk', confirm_price: 8.9 });
      assert.equal(bought.status, 201, bought.text);
      const before = await holderOf('plain.co.uk');
      const { body } = await workspace.patch('/registrant', { name: 'At Once' });
      assert.deepEqual([body.name, body.change], ['At Once', null]);
      await work();
      assert.deepEqual(await holderOf('plain.co.uk'), { ...before, name: 'At Once' });
      const { city } = (await workspace.patch('/registrant', { contact: { city: 'Leeds' } })).body.contact;
      await work();
      assert.deepEqual([city, await cityOf('plain.co.uk')], ['Leeds', 'Leeds']);
    });
  });

  describe('another e-mail address', () => {
    test('takes the consents of both, counts as confirmed, and is told to both', async () => {
      const workspace = await owner('moved.com');
      const [old, email] = [emailOf(workspace), `next-${workspace.userId}@example.com`];
      assert.equal((await workspace.patch('/registrant', { email })).body.email, old);
      const first = await give(await codeTo(email));
      assert.deepEqual([first.status, first.body], [200, { status: 'Consented' }], first.text);
      const waiting = await registrantOf(workspace);
      assert.equal(waiting.email, old);
      assert.ok(waiting.change.consents.next !== null && waiting.change.consents.present === null);
      assert.deepEqual((await give(await codeTo(old))).body, { status: 'Changed' });
      const after = await registrantOf(workspace);
      assert.deepEqual([after.email, after.verification.state], [email, 'verified']);
      await work();
      assert.equal((await holderOf('moved.com')).email, email);
      for (const to of [old, email]) await eventually(() => mailsTo(to, CHANGED)[0], `the message to ${to}`);
    });

    test('waits also where the workspace has no names', async () => {
      const workspace = await service.createWorkspace();
      const email = `bare-${workspace.userId}@example.com`;
      await workspace.patch('/registrant', { email });
      await give(await codeTo(emailOf(workspace)));
      assert.equal((await registrantOf(workspace)).email, emailOf(workspace));
      await give(await codeTo(email));
      assert.equal((await registrantOf(workspace)).email, email);
    });

    test('email_taken: that of another account, when it is asked for and when it is consented to', async () => {
      const [workspace, other] = [await owner(), await service.createWorkspace()];
      const taken = await workspace.patch('/registrant', { email: emailOf(other).toUpperCase() });
      assert.deepEqual(refusal(taken), [409, 'email_taken']);
      const email = `taken-${workspace.userId}@example.com`;
      await workspace.patch('/registrant', { email });
      await give(await codeTo(email));
      assert.equal((await anybody.post('/accounts', { email })).status, 201);
      const code = await codeTo(emailOf(workspace));
      assert.deepEqual(refusal(await give(code)), [409, 'email_taken']);
      assert.equal((await registrantOf(workspace)).email, emailOf(workspace));
    });

    test('that is none is refused', async () => {
      const workspace = await owner();
      assert.deepEqual(refusal(await workspace.patch('/registrant', { email: 'nobody' })), [400, 'bad_request']);
    });
  });

  soakTest?.('the page consents once its button is pressed, and not before', { skip: NEEDS_CHROMIUM }, async () => {
    const workspace = await owner('pressed.com');
    await workspace.patch('/registrant', { name: 'Pressed' });
    const code = await codeTo(emailOf(workspace));
    const browser = await startChromium();
    try {
      const page = await browser.newPage();
      await page.goto(`${service.url}/consent#${code}`);
      assert.deepEqual(
        [await page.locator('output').textContent(), (await registrantOf(workspace)).name],
        ['', 'Test'],
      );
      await page.locator('button').click();
      await page.locator('output', { hasText: 'the holder has changed' }).waitFor();
      assert.equal((await registrantOf(workspace)).name, 'Pressed');
    } finally {
      await browser.close();
    }
  });

  describe('a link', () => {
    test('that is made up, used, of a change that was replaced, taken back or is over leads nowhere', async () => {
      const workspace = await owner('links.com');
      const [old, email] = [emailOf(workspace), `links-${workspace.userId}@example.com`];
      assert.deepEqual(refusal(await give('A'.repeat(43))), [401, 'invalid_token']);
      assert.deepEqual(refusal(await anybody.post('/registrant/change/consent', {})), [400, 'bad_request']);
      await workspace.patch('/registrant', { email });
      const [used, replaced] = [await codeTo(email), await codeTo(old)];
      await give(used);
      assert.deepEqual(refusal(await give(used)), [401, 'invalid_token']);
      await workspace.patch('/registrant', { email, name: 'Replaced' });
      assert.deepEqual(refusal(await give(replaced)), [401, 'invalid_token']);
      assert.equal((await registrantOf(workspace)).change.consents.next, null, 'it was to another change');
      const [back] = [await codeTo(old, 2), await codeTo(email, 2)];
      const cancelled = await workspace.delete('/registrant/change');
      assert.deepEqual([cancelled.status, cancelled.body.change], [200, null]);
      assert.deepEqual(refusal(await give(back)), [401, 'invalid_token']);
      await workspace.patch('/registrant', { email });
      const late = [await codeTo(old, 3), await codeTo(email, 3)];
      epp.clock.advance(14 * DAY_MS);
      assert.equal((await registrantOf(workspace)).change, null);
      for (const code of late) assert.deepEqual(refusal(await give(code)), [401, 'invalid_token']);
      assert.deepEqual([(await registrantOf(workspace)).email, (await registrantOf(workspace)).name], [old, 'Test']);
    });

    soakTest?.('of a change leads nowhere once the operator has corrected the address that was asked', async () => {
      const workspace = await owner('corrected.com');
      await workspace.patch('/registrant', { name: 'Whoever' });
      const code = await codeTo(emailOf(workspace));
      const operator = createOperator({ db: service.db, clock: epp.clock, prices });
      const email = `corrected-${workspace.userId}@example.com`;
      await operator.correct_registrant({ workspace: workspace.workspaceId, email });
      assert.deepEqual(refusal(await give(code)), [401, 'invalid_token']);
      const { change, email: after, name } = await registrantOf(workspace);
      assert.deepEqual([change, after, name], [null, email, 'Test']);
    });

    test('is used once by those who use it at the same time', async () => {
      const workspace = await owner('raced.com');
      await workspace.patch('/registrant', { name: 'Raced' });
      const code = await codeTo(emailOf(workspace));
      const answers = await Promise.all([give(code), give(code), give(code), give(code)]);
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401, 401]);
    });

    soakTest?.('is mailed again where the mail server was away, and kept nowhere', async () => {
      const workspace = await owner('away.com');
      failures = 1;
      await workspace.patch('/registrant', { name: 'Away' });
      const code = await codeTo(emailOf(workspace));
      const { rows } = await service.db.query<{ text: string }>({
        text: `select coalesce(string_agg(c::text, ' '), '') || (select coalesce(string_agg(data::text, ' '), '') from jobs.job) as text
        from domains.registrant_changes c`,
      });
      assert.ok(!rows[0]?.text.includes(code));
      assert.equal((await give(code)).status, 200);
    });

    test('rate_limit_exceeded: five changes an hour', async () => {
      const workspace = await owner('often.com');
      for (let count = 0; count < 5; count += 1)
        assert.equal((await workspace.patch('/registrant', { name: `Name ${count}` })).status, 200);
      const refused = await workspace.patch('/registrant', { name: 'Name 6' });
      assert.deepEqual(refusal(refused), [429, 'rate_limit_exceeded']);
      await workspace.delete('/registrant/change');
      assert.equal((await workspace.patch('/registrant', { name: 'Name 7' })).status, 429);
      assert.equal((await workspace.patch('/registrant', { contact: { city: 'Rome' } })).status, 200);
      epp.clock.advance(3_600_000);
      assert.equal((await workspace.patch('/registrant', { name: 'Name 8' })).status, 200);
    });
  });

  describe('a registry', () => {
    test('that answers nothing, or loses the answer, has the new holder in the end', async () => {
      const workspace = await owner('lost.com');
      await workspace.patch('/registrant', { name: 'Found Again' });
      let count = 0;
      deliver(({ kind, name }) => {
        if (kind !== 'domain:update' || name !== 'lost.com') return undefined;
        count += 1;
        return count === 1 ? { kind: 'cut' } : count === 2 ? { kind: 'refused', code: 2400 } : undefined;
      });
      await give(await codeTo(emailOf(workspace)));
      for (let tries = 0; tries < 4; tries += 1) {
        await work();
        epp.clock.advance(1_800_000);
      }
      const { isAlone, name } = await holderOf('lost.com');
      assert.deepEqual([name, isAlone], ['Found Again', true]);
    });

    soakTest?.('has it under the owner’s lock, which stays', async () => {
      const workspace = await owner('kept.com');
      await workspace.patch('/domains/kept.com/settings', { registrar_lock: true });
      const locks = await statusesOf('kept.com');
      await workspace.patch('/registrant', { name: 'Kept', contact: { organization: 'Keepers' } });
      await give(await codeTo(emailOf(workspace)));
      await work();
      const { name, organization } = await holderOf('kept.com');
      assert.deepEqual([name, organization], ['Kept', 'Keepers']);
      assert.deepEqual((await statusesOf('kept.com')).toSorted(), locks.toSorted());
    });
  });

  /** It is with another registrar, and asked for. */
  async function startTransfer(workspace: TestWorkspace, domain: string): Promise<void> {
    const id = `OF-${domain.replace('.com', '').toUpperCase()}`;
    done(await epp.core.createContact(epp.theirs, testContact(id)));
    const name = { name: domain, years: 1, registrant: id, authInfo: 'auth-of-theirs' };
    done(await epp.core.createDomain(epp.theirs, name));
    const moved = await workspace.post(`/domains/${domain}/transfer`, {
      confirm_price: 11.9,
      auth_code: name.authInfo,
    });
    assert.equal(moved.body.status, 'Pending', moved.text);
  }

  describe('a name that comes from another registrar', () => {
    test('has its holder in place of who had it there, and its lock', async () => {
      const workspace = await owner();
      await startTransfer(workspace, 'came.com');
      done(await epp.core.approveTransfer(epp.theirs, { name: 'came.com' }));
      await service.later(3_600_000);
      await work();
      const { email, isAlone, name } = await holderOf('came.com');
      assert.deepEqual([email, isAlone, name], [emailOf(workspace), true, 'Test']);
      assert.ok((await statusesOf('came.com')).includes('clientTransferProhibited'));
    });

    soakTest?.(
      'keeps who had it where its registry refuses another holder, of which its owner is told, and has its lock all the same',
      async () => {
        const workspace = await owner();
        await startTransfer(workspace, 'stuck.com');
        done(await epp.core.approveTransfer(epp.theirs, { name: 'stuck.com' }));
        deliver(({ kind }) => (kind === 'contact:create' ? { kind: 'refused', code: 2308 } : undefined));
        await service.later(3_600_000);
        await work();
        epp.clock.advance(3_600_000);
        await work();
        assert.equal(done(await epp.core.infoDomain(epp.ours, { name: 'stuck.com' })).registrant, 'OF-STUCK');
        assert.ok((await statusesOf('stuck.com')).includes('clientTransferProhibited'));
        assert.equal(mailsTo(emailOf(workspace), 'The registry of stuck.com has not taken your data').length, 1);
      },
    );
  });

  soakTest?.('a name that is on its way from another registrar has the new holder once it has come', async () => {
    const workspace = await owner();
    await startTransfer(workspace, 'coming.com');
    const email = `coming-${workspace.userId}@example.com`;
    await workspace.patch('/registrant', { email });
    for (const to of [emailOf(workspace), email]) await give(await codeTo(to));
    done(await epp.core.approveTransfer(epp.theirs, { name: 'coming.com' }));
    await service.later(3_600_000);
    await work();
    assert.equal((await holderOf('coming.com')).email, email);
    assert.ok((await statusesOf('coming.com')).includes('clientTransferProhibited'));
  });

  soakTest?.('at the simulated registry, a locked name has its new holder too', async () => {
    const simulated = await startOrders({ mailer, parts: { prices } });
    try {
      const workspace = await simulated.fundedWorkspace();
      const bought = await workspace.post('/domains', { domain: 'simulated.com', confirm_price: 11.9 });
      assert.equal(bought.status, 201, bought.text);
      await workspace.patch('/domains/simulated.com/settings', { registrar_lock: true });
      await workspace.patch('/registrant', { name: 'Simulated' });
      const mail = await eventually(() => mailsTo(emailOf(workspace))[0], 'the message');
      const given = await simulated.anybody.post('/registrant/change/consent', { code: codeIn(mail) });
      assert.equal(given.body.status, 'Changed', given.text);
      await simulated.domains.resendChanges();
      await simulated.domains.resendChanges();
      const { rows } = await simulated.db.query<{ holder: string; statuses: string[] }>({
        text: `select c.data::text as holder, d.client_statuses as statuses
        from domains.registry_domains d join domains.registry_contacts c on c.id = d.registrant where d.name = $1`,
        values: ['simulated.com'],
      });
      assert.match(rows[0]?.holder ?? '', /"Simulated"/);
      assert.equal(rows[0]?.statuses.length, 3);
    } finally {
      await simulated.close();
    }
  });
}
