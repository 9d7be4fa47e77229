/** Registrants who confirm their e-mail addresses, or do not, at a registry over EPP. */
import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { type Message, RecipientRefused } from '../../src/domains/mail/index.ts';
import { createOperator } from '../../src/domains/operator/index.ts';
import { systemDb } from '../../src/domains/workspace-scope.ts';
import { OperatorError } from '../../src/kernel/operator/index.ts';
import type { Share } from '../conformance/take-turns.ts';
import { NEEDS_CHROMIUM, startChromium } from './browser.ts';
import type { TestWorkspace } from './domains.ts';
import { startDomainsOverEpp } from './domains-over-epp.ts';
import { refusal } from './orders.ts';
import { pricesThatAsk } from './prices.ts';
import { done, testContact } from './simulated-registry.ts';

export async function testVerifications(share: Share): Promise<void> {
  const soakTest = share === 'all' ? test : undefined;
  const HOUR_MS = 3_600_000;
  const DAY_MS = 24 * HOUR_MS;
  const GATHER_MS = 300_000;
  const confirm_price = 11.9;

  const outbox: Message[] = [];
  /** What the mail server does with a message instead of taking it. */
  let misbehave: ((message: Message) => void) | undefined;
  const mailer = {
    async send(message: Message) {
      misbehave?.(message);
      outbox.push(message);
    },
  };
  const prices = pricesThatAsk(['com']);
  const service = await startDomainsOverEpp({ mailer, prices, autoRenewGraceDays: 45 });
  const { anybody, answerWrongly, db, deliver, epp, owner } = service;
  const operator = createOperator({ db, clock: epp.clock, prices });
  after(() => service.close());
  beforeEach(async () => {
    misbehave = undefined;
    answerWrongly(undefined);
    deliver(undefined);
    await service.letNamesGo();
  });

  /** So much later, with everything done that is due by then. The second run is one that began after the first. */
  async function later(ms: number): Promise<void> {
    epp.clock.advance(ms);
    await service.domains.orders.sweep();
    await service.domains.runVerifications();
    await service.domains.runVerifications();
  }

  const emailOf = ({ userId }: TestWorkspace) => `${userId}@example.com`;
  const mailsTo = (workspace: TestWorkspace) => outbox.filter(({ to }) => to === emailOf(workspace));
  const codesOf = (workspace: TestWorkspace) =>
    mailsTo(workspace).flatMap(({ text }) => /^http\S+\/api\/v1\/verify-registrant#(\S+)$/m.exec(text)?.slice(1) ?? []);
  const lastCode = (workspace: TestWorkspace) => codesOf(workspace).at(-1) ?? assert.fail('there is no link');
  const complete = (code: string) => anybody.post('/registrant/verification/complete', { code });
  const verificationOf = async (workspace: TestWorkspace) => (await workspace.get('/registrant')).body.verification;
  const stateOf = async (workspace: TestWorkspace) => (await verificationOf(workspace)).state;
  const statusesOf = async (name: string) => done(await epp.core.infoDomain(epp.ours, { name })).statuses;
  const isHeld = async (name: string) => (await statusesOf(name)).includes('clientHold');
  const suspendedFor = async (workspace: TestWorkspace, name: string) =>
    (await workspace.get(`/domains/${name}`)).body.suspended_for;
  const eventsOf = async (workspace: TestWorkspace, family: string): Promise<unknown[]> =>
    (await workspace.get('/events')).body.events
      .filter(({ type }: { type: string }) => type.startsWith(family))
      .map(({ data, type }: { data: object; type: string }) => [type, data])
      .reverse();

  async function asked(...names: string[]): Promise<TestWorkspace> {
    const workspace = await owner(...names);
    await later(0);
    assert.equal(await stateOf(workspace), 'waiting');
    return workspace;
  }

  async function overdue(...names: string[]): Promise<TestWorkspace> {
    const workspace = await asked(...names);
    await later(15 * DAY_MS);
    for (const name of names) assert.ok(await isHeld(name), name);
    return workspace;
  }

  describe('who registers a name', () => {
    test('is mailed a link, whose page confirms nothing and whose button does', async () => {
      const workspace = await owner('linked.com');
      await later(0);
      const waiting = await verificationOf(workspace);
      const now = epp.clock.now();
      const suspends_at = new Date(now.getTime() + 15 * DAY_MS).toISOString();
      const [asked_at, mailed_at] = [waiting.asked_at, waiting.mailed_at];
      assert.deepEqual(waiting, {
        state: 'waiting',
        asked_at,
        mailed_at,
        mail_problem: null,
        suspends_at,
        verified_at: null,
      });
      assert.ok(asked_at !== null && mailed_at !== null);
      const [mail, ...others] = mailsTo(workspace);
      assert.deepEqual(others, []);
      assert.equal(mail?.subject, 'Please confirm your e-mail address for your domains');
      assert.match(
        mail?.text ?? '',
        new RegExp(`Until ${suspends_at.slice(0, 10)}: after that[^]*\n\n  linked\\.com\n`),
      );

      const page = await fetch(`${service.url}/verify-registrant#${lastCode(workspace)}`);
      assert.equal(page.status, 200);
      assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'.*connect-src 'self'/);
      assert.equal(await stateOf(workspace), 'waiting');
      const confirmed = await complete(lastCode(workspace));
      assert.deepEqual([confirmed.status, confirmed.body], [200, { status: 'Verified' }], confirmed.text);
      const verified = await verificationOf(workspace);
      assert.deepEqual(
        [verified.state, verified.suspends_at, verified.verified_at],
        ['verified', null, now.toISOString()],
      );
      await later(20 * DAY_MS);
      assert.deepEqual([await statusesOf('linked.com'), mailsTo(workspace).length], [['ok'], 1]);
      const email = emailOf(workspace);
      assert.deepEqual(await eventsOf(workspace, 'registrant.'), [
        ['registrant.verification_requested', { email }],
        ['registrant.verified', { email, verified_by: 'link' }],
      ]);
    });

    test('is asked once for all names of the workspace', async () => {
      const workspace = await asked('first.com', 'second.com');
      await complete(lastCode(workspace));
      const third = await workspace.post('/domains', { domain: 'third.com', confirm_price });
      assert.equal(third.status, 201, third.text);
      await later(16 * DAY_MS);
      assert.deepEqual([await stateOf(workspace), mailsTo(workspace).length], ['verified', 1]);
      for (const name of ['first.com', 'second.com', 'third.com']) assert.equal(await isHeld(name), false, name);
    });

    test('of a TLD that does not ask is asked nothing, and has no message sent', async () => {
      const workspace = await owner();
      const bought = await workspace.post('/domains', { domain: 'elsewhere.co.uk', confirm_price: 8.9 });
      assert.equal(bought.status, 201, bought.text);
      await later(16 * DAY_MS);
      const requested = await workspace.post('/registrant/verification', {});
      assert.deepEqual([requested.status, requested.body.state], [202, 'not_required']);
      await later(0);
      assert.deepEqual([await isHeld('elsewhere.co.uk'), mailsTo(workspace)], [false, []]);
      await assert.rejects(async () => operator.ask_registrant({ workspace: workspace.workspaceId }), OperatorError);
    });

    test('is reminded 10, 5 and 1 days before names are suspended, and told when they are', async () => {
      const workspace = await asked('reminded.com', 'warned.com');
      const told: number[] = [];
      for (const days of [4.9, 0.1, 4.9, 0.1, 3.9, 0.1, 0.9]) {
        await later(days * DAY_MS);
        told.push(mailsTo(workspace).length);
      }
      assert.deepEqual(told, [1, 2, 2, 3, 3, 4, 4]);
      assert.equal(await isHeld('reminded.com'), false);
      await later(0.1 * DAY_MS);
      assert.deepEqual([await isHeld('reminded.com'), await isHeld('warned.com')], [true, true]);
      await later(GATHER_MS);
      const mail = mailsTo(workspace).at(-1);
      assert.equal(mail?.subject, 'Your domains are suspended until you confirm your e-mail address');
      assert.match(mail?.text ?? '', /\n {2}reminded\.com\n {2}warned\.com\n/);
      await later(14 * DAY_MS);
      assert.equal(mailsTo(workspace).length, 5);
    });
  });

  test('who brings a name from another registrar is asked, once it has come', async () => {
    const workspace = await owner();
    done(await epp.core.createContact(epp.theirs, testContact('BROUGHT')));
    const name = { name: 'brought.com', years: 1, registrant: 'BROUGHT', authInfo: 'auth-of-theirs' };
    done(await epp.core.createDomain(epp.theirs, name));
    const moved = await workspace.post('/domains/brought.com/transfer', { confirm_price, auth_code: name.authInfo });
    assert.equal(moved.body.status, 'Pending', moved.text);
    await later(0);
    assert.equal(await stateOf(workspace), 'not_required');
    done(await epp.core.approveTransfer(epp.theirs, { name: name.name }));
    await later(HOUR_MS);
    await later(0);
    assert.equal(await stateOf(workspace), 'waiting');
  });

  describe('names of a registrant who does not confirm the address', () => {
    test('are suspended after 15 days, and work again once it is confirmed', async () => {
      const workspace = await asked('late.com');
      await later(15 * DAY_MS - 1);
      assert.deepEqual([await isHeld('late.com'), await suspendedFor(workspace, 'late.com')], [false, []]);
      await later(1);
      assert.ok(await isHeld('late.com'));
      assert.deepEqual(await suspendedFor(workspace, 'late.com'), ['unverified_registrant']);
      assert.equal(await stateOf(workspace), 'overdue');
      assert.equal((await complete(lastCode(workspace))).status, 200);
      // A name that something else holds locked at that moment is freed by the next look.
      await later(0);
      assert.deepEqual(await suspendedFor(workspace, 'late.com'), []);
      assert.deepEqual(await statusesOf('late.com'), ['ok']);
      assert.deepEqual(await eventsOf(workspace, 'domain.s'), [
        ['domain.suspended', { domain: 'late.com', reason: 'unverified_registrant' }],
      ]);
      assert.deepEqual(await eventsOf(workspace, 'domain.res'), [['domain.resumed', { domain: 'late.com' }]]);
    });

    soakTest?.('that come later have 15 days of their own, of which the registrant is told', async () => {
      const workspace = await overdue('earlier.com');
      await later(GATHER_MS);
      const before = mailsTo(workspace).length;
      await workspace.post('/domains', { domain: 'fresh.com', confirm_price });
      await later(0);
      assert.equal(mailsTo(workspace).length, before + 1);
      await later(15 * DAY_MS - 1);
      assert.equal(await isHeld('fresh.com'), false);
      await later(1);
      assert.ok(await isHeld('fresh.com'));
    });

    soakTest?.('are not suspended where nobody could be mailed, and are where the address takes no mail', async () => {
      misbehave = () => {
        throw new Error('the mail server is away');
      };
      const unreached = await owner('unreached.com');
      await later(0);
      await later(16 * DAY_MS);
      const { mail_problem, state, suspends_at } = await verificationOf(unreached);
      assert.deepEqual([state, suspends_at, mail_problem], ['waiting', null, 'the mail server is away']);
      assert.equal(await isHeld('unreached.com'), false);
      misbehave = undefined;
      await later(HOUR_MS);
      assert.deepEqual([mailsTo(unreached).length, (await verificationOf(unreached)).mail_problem], [1, null]);
      await later(15 * DAY_MS - 1);
      assert.equal(await isHeld('unreached.com'), false);
      await later(1);
      assert.ok(await isHeld('unreached.com'));

      misbehave = () => {
        throw new RecipientRefused('550 no such mailbox');
      };
      const bounced = await owner('bounced.com');
      await later(0);
      assert.equal((await verificationOf(bounced)).mail_problem, '550 no such mailbox');
      const listed = (await operator.unverified_registrants({})).registrants;
      const [one] = listed.filter(({ workspace_id: id }) => id === bounced.workspaceId);
      assert.deepEqual([one?.email, one?.mailed_at, one?.problem], [emailOf(bounced), null, '550 no such mailbox']);
      await later(15 * DAY_MS);
      assert.ok(await isHeld('bounced.com'));
    });

    soakTest?.('are free when their TLD does not ask any more', async () => {
      const workspace = await owner();
      const bought = await workspace.post('/domains', { domain: 'released.co.uk', confirm_price: 8.9 });
      assert.equal(bought.status, 201, bought.text);
      // As it was while it asked.
      done(await epp.core.updateDomain(epp.ours, { name: 'released.co.uk', statuses: { add: ['clientHold'] } }));
      const now = epp.clock.now();
      const { body: registrant } = await workspace.get('/registrant');
      const overdue = { name: registrant.name, email: registrant.email, asked_at: now, suspend_at: now };
      await systemDb(db)
        .insertInto('registrant_verifications')
        .values({ workspace_id: workspace.workspaceId, ...overdue })
        .execute();
      await systemDb(db)
        .updateTable('domains')
        .set({ registrant_asked_at: now, unverified_at: now, unverified_told: true, held_at: now })
        .where('name', '=', 'released.co.uk')
        .execute();
      await later(0);
      assert.equal(await isHeld('released.co.uk'), false);
      assert.deepEqual(await suspendedFor(workspace, 'released.co.uk'), []);
    });
  });

  /** Another process with other prices: a run of it. */
  async function startSecond(others: typeof prices): Promise<() => Promise<void>> {
    const { runVerifications } = await import('../../src/domains/verifications/index.ts');
    const { openTestLogger } = await import('./test-log.ts');
    const deps = { db, mailer, clock: epp.clock, prices: others, registry: service.registry, logger: openTestLogger() };
    return () => runVerifications({ ...deps, publicUrl: 'http://127.0.0.1:8788' }, new AbortController().signal);
  }

  soakTest?.(
    'the page confirms the address once its button is pressed, and not before',
    {
      skip: NEEDS_CHROMIUM,
    },
    async () => {
      const workspace = await asked('pressed.com');
      const browser = await startChromium();
      try {
        const page = await browser.newPage();
        await page.goto(`${service.url}/verify-registrant#${lastCode(workspace)}`);
        assert.deepEqual([await page.locator('output').textContent(), await stateOf(workspace)], ['', 'waiting']);
        await page.locator('button').click();
        await page.locator('output', { hasText: 'Thank you' }).waitFor();
        assert.equal(await stateOf(workspace), 'verified');
      } finally {
        await browser.close();
      }
    },
  );

  describe('a link', () => {
    test('that is made up, used, or older than 30 days confirms nothing', async () => {
      const workspace = await asked('guarded.com');
      assert.deepEqual(refusal(await complete('A'.repeat(43))), [401, 'invalid_token']);
      assert.deepEqual(refusal(await anybody.post('/registrant/verification/complete', {})), [400, 'bad_request']);
      const old = lastCode(workspace);
      await later(30 * DAY_MS);
      assert.deepEqual(refusal(await complete(old)), [401, 'invalid_token']);
      assert.equal((await workspace.post('/registrant/verification', {})).status, 202);
      await later(0);
      const code = lastCode(workspace);
      assert.equal((await complete(code)).status, 200);
      await operator.ask_registrant({ workspace: workspace.workspaceId });
      assert.deepEqual(refusal(await complete(code)), [401, 'invalid_token']);
      assert.equal(await stateOf(workspace), 'waiting');
    });

    soakTest?.('of an earlier message works until one of them was used', async () => {
      const workspace = await asked('twice.com');
      await later(5 * DAY_MS);
      const [first = '', second = ''] = codesOf(workspace);
      assert.notEqual(first, second);
      assert.equal((await complete(first)).status, 200);
      assert.deepEqual(refusal(await complete(second)), [401, 'invalid_token']);
    });

    test('is used once by those who use it at the same time', async () => {
      const workspace = await asked('raced.com');
      const code = lastCode(workspace);
      const answers = await Promise.all([complete(code), complete(code), complete(code), complete(code)]);
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401, 401]);
      assert.equal((await eventsOf(workspace, 'registrant.verified')).length, 1);
    });

    test('is kept nowhere', async () => {
      const workspace = await asked('unkept.com');
      const { rows } = await db.query<{ text: string }>({
        text: `select coalesce(string_agg(l::text, ' '), '') || coalesce((select string_agg(v::text, ' ') from domains.registrant_verifications v), '')
        || coalesce((select string_agg(e::text, ' ') from domains.events e), '') as text from domains.registrant_links l`,
      });
      assert.ok(!rows[0]?.text.includes(lastCode(workspace)));
    });

    test('is sent again when it is asked for, five times an hour, and not to who is verified', async () => {
      const workspace = await asked('again.com');
      assert.deepEqual(refusal(await workspace.reader.post('/registrant/verification', {})), [
        403,
        'insufficient_scope',
      ]);
      const before = mailsTo(workspace).length;
      for (let count = before; count < 5; count += 1) {
        assert.equal((await workspace.post('/registrant/verification', {})).status, 202);
        await later(0);
        assert.equal(mailsTo(workspace).length, count + 1);
      }
      const refused = await workspace.post('/registrant/verification', {});
      assert.deepEqual(refusal(refused), [429, 'rate_limit_exceeded']);
      const wait = Number(refused.headers.get('retry-after'));
      assert.ok(wait > 0 && wait <= 3_600, String(wait));
      await later(wait * 1_000);
      const [asked6, count] = [await workspace.post('/registrant/verification', {}), mailsTo(workspace).length];
      assert.equal(asked6.status, 202);
      await later(0);
      assert.equal(mailsTo(workspace).length, count + 1);
      await complete(lastCode(workspace));
      assert.equal((await workspace.post('/registrant/verification', {})).body.state, 'verified');
      await later(0);
      assert.equal(mailsTo(workspace).length, count + 1);
    });
  });

  describe('a message', () => {
    test('whose process died over it is sent again as the same one, and both links work', async () => {
      misbehave = (message) => {
        outbox.push(message);
        throw new Error('the connection was cut after the message');
      };
      const workspace = await owner('cut.com');
      await later(0);
      misbehave = undefined;
      await later(0);
      assert.equal(mailsTo(workspace).length, 1);
      await later(900_000);
      await later(900_000);
      const [first, second, ...others] = mailsTo(workspace);
      assert.deepEqual([first?.id, others], [second?.id, []]);
      const [code = ''] = codesOf(workspace);
      assert.equal((await complete(code)).status, 200);
    });

    test('is one, however many processes send it', async () => {
      const workspace = await owner('replicas.com');
      const run = await startSecond(prices);
      await Promise.all([run(), run(), run(), run()]);
      await later(0);
      assert.equal(mailsTo(workspace).length, 1);
      await epp.clock.advance(15 * DAY_MS);
      await Promise.all([run(), run(), run(), run()]);
      await later(0);
      assert.ok(await isHeld('replicas.com'));
      assert.equal((await eventsOf(workspace, 'domain.suspended')).length, 1);
    });
  });

  describe('a change of the registrant', () => {
    test('has who was verified asked anew, where it is of the name or the organization', async () => {
      const workspace = await asked('changed.com');
      await complete(lastCode(workspace));
      await workspace.patch('/registrant', { contact: { city: 'Leeds', phone: null } });
      assert.equal(await stateOf(workspace), 'verified');
      for (const change of [{ name: 'Ada King' }, { contact: { organization: 'Kings' } }]) {
        const { body } = await workspace.patch('/registrant', change);
        assert.equal(body.verification.state, 'waiting', JSON.stringify(change));
        await later(0);
        await complete(lastCode(workspace));
        assert.equal(await stateOf(workspace), 'verified');
      }
      await workspace.patch('/registrant', { name: 'Somebody Else' });
      await later(0);
      await later(15 * DAY_MS);
      assert.ok(await isHeld('changed.com'));
    });

    soakTest?.('gains no days, and makes links of before void', async () => {
      const workspace = await asked('gained.com');
      await later(14 * DAY_MS);
      const old = lastCode(workspace);
      const { suspends_at } = await verificationOf(workspace);
      const { body } = await workspace.patch('/registrant', { name: 'In Hurry' });
      assert.equal(body.verification.suspends_at, suspends_at);
      assert.deepEqual(refusal(await complete(old)), [401, 'invalid_token']);
      await later(0);
      assert.match(mailsTo(workspace).at(-1)?.text ?? '', /^Hello In Hurry,/);
      await later(DAY_MS);
      assert.ok(await isHeld('gained.com'));
      await workspace.patch('/registrant', { name: 'Too Late' });
      await later(0);
      assert.ok(await isHeld('gained.com'));
      await complete(lastCode(workspace));
      await later(0);
      assert.equal(await isHeld('gained.com'), false);
    });

    soakTest?.('sends five messages an hour at most', async () => {
      const workspace = await asked('flood.com');
      for (let count = 0; count < 8; count += 1) {
        await workspace.patch('/registrant', { name: `Name ${count}` });
        await later(0);
      }
      assert.equal(mailsTo(workspace).length, 5);
      await later(HOUR_MS);
      assert.match(mailsTo(workspace)[5]?.text ?? '', /^Hello Name 7,/);
    });

    soakTest?.('asks about names that came before their TLD asked', async () => {
      const since = new Date(epp.clock.now().getTime() + DAY_MS);
      const workspace = await owner();
      const bought = await workspace.post('/domains', { domain: 'older.co.uk', confirm_price: 8.9 });
      assert.equal(bought.status, 201, bought.text);
      const run = await startSecond(pricesThatAsk(['co.uk'], since));
      epp.clock.advance(2 * DAY_MS);
      await run();
      assert.equal(await stateOf(workspace), 'not_required');
      await workspace.patch('/registrant', { name: 'Newer' });
      await run();
      assert.equal(await stateOf(workspace), 'waiting');
    });
  });

  describe('a name that is out of the DNS for two reasons', () => {
    /** Unpaid since a while, and its registrant was asked shortly before. */
    async function doublySuspended(name: string): Promise<TestWorkspace> {
      const workspace = await asked(name);
      await complete(lastCode(workspace));
      await workspace.patch(`/domains/${name}/settings`, { auto_renew: false });
      await later(360 * DAY_MS);
      await operator.ask_registrant({ workspace: workspace.workspaceId });
      await later(0);
      await later(15 * DAY_MS);
      await service.domains.unpaidNames.runDue();
      assert.deepEqual(await suspendedFor(workspace, name), ['unpaid', 'unverified_registrant']);
      assert.ok(await isHeld(name));
      return workspace;
    }

    async function pay(workspace: TestWorkspace, name: string): Promise<void> {
      const { body, text } = await workspace.post(`/domains/${name}/renew`, { confirm_price });
      assert.equal(body.status, 'Completed', text);
      await service.domains.unpaidNames.runDue();
      await later(0);
    }

    test('stays so when it is paid for, until its registrant is verified', async () => {
      const workspace = await doublySuspended('paid-first.com');
      await pay(workspace, 'paid-first.com');
      assert.ok(await isHeld('paid-first.com'));
      assert.deepEqual(await suspendedFor(workspace, 'paid-first.com'), ['unverified_registrant']);
      assert.deepEqual(await eventsOf(workspace, 'domain.resumed'), []);
      await complete(lastCode(workspace));
      await later(0);
      assert.deepEqual(await statusesOf('paid-first.com'), ['ok']);
      assert.equal((await eventsOf(workspace, 'domain.resumed')).length, 1);
    });

    soakTest?.('stays so when its registrant is verified, until it is paid for', async () => {
      const workspace = await doublySuspended('verified-first.com');
      await complete(lastCode(workspace));
      await later(0);
      assert.ok(await isHeld('verified-first.com'));
      assert.deepEqual(await suspendedFor(workspace, 'verified-first.com'), ['unpaid']);
      await pay(workspace, 'verified-first.com');
      assert.deepEqual(await statusesOf('verified-first.com'), ['ok']);
      assert.equal((await eventsOf(workspace, 'domain.resumed')).length, 1);
    });

    soakTest?.('is free when both end at the same time, whoever tells the registry', async () => {
      const workspace = await doublySuspended('both.com');
      const { body } = await workspace.post('/domains/both.com/renew', { confirm_price });
      assert.equal(body.status, 'Completed');
      const run = await startSecond(prices);
      await complete(lastCode(workspace));
      await Promise.all([service.domains.unpaidNames.runDue(), run(), run()]);
      await later(60_000);
      await service.domains.unpaidNames.runDue();
      assert.deepEqual(await statusesOf('both.com'), ['ok']);
      assert.equal((await eventsOf(workspace, 'domain.resumed')).length, 1);
    });
  });

  describe('suspension and locks', () => {
    test('leave each other alone', async () => {
      const workspace = await asked('locked.com');
      const { status, text } = await workspace.patch('/domains/locked.com/settings', { registrar_lock: true });
      assert.equal(status, 200, text);
      const locks = await statusesOf('locked.com');
      assert.ok(locks.includes('clientUpdateProhibited'));
      await later(15 * DAY_MS);
      assert.deepEqual((await statusesOf('locked.com')).toSorted(), [...locks, 'clientHold'].sort());
      await workspace.patch('/domains/locked.com/settings', { registrar_lock: false });
      assert.deepEqual(await statusesOf('locked.com'), ['clientHold']);
      await workspace.patch('/domains/locked.com/settings', { registrar_lock: true });
      await complete(lastCode(workspace));
      await later(0);
      assert.deepEqual((await statusesOf('locked.com')).toSorted(), locks.toSorted());
    });

    soakTest?.('a name that comes back from its redemption period is out of the DNS as it was', async () => {
      const workspace = await overdue('restored.com');
      await workspace.delete('/domains/restored.com');
      await later(DAY_MS);
      const { restoration } = (await workspace.get('/domains/restored.com')).body;
      const back = await workspace.post('/domains/restored.com/restore', { confirm_price: restoration.price });
      assert.equal(back.body.status, 'Completed', back.text);
      await later(0);
      assert.ok(await isHeld('restored.com'));
      await complete(lastCode(workspace));
      await later(0);
      assert.equal(await isHeld('restored.com'), false);
    });
  });

  describe('a registry', () => {
    test('whose answer is lost has done what is wanted in the end', async () => {
      const workspace = await asked('lost.com');
      let lost = 0;
      deliver(({ kind, name }) =>
        kind === 'domain:update' && name === 'lost.com' && lost++ < 1 ? { kind: 'cut' } : undefined,
      );
      await later(15 * DAY_MS);
      await later(60_000);
      await later(60_000);
      assert.ok(await isHeld('lost.com'));
      assert.equal((await eventsOf(workspace, 'domain.suspended')).length, 1);
      lost = 0;
      await complete(lastCode(workspace));
      await later(0);
      await later(60_000);
      await later(60_000);
      assert.equal(await isHeld('lost.com'), false);
    });

    soakTest?.('that refuses is asked again each hour, and the operator reads why', async () => {
      const workspace = await asked('refused.com');
      answerWrongly((command, name) => (command === 'update' && name === 'refused.com' ? 2400 : undefined));
      await later(15 * DAY_MS);
      await later(60_000);
      assert.equal(await isHeld('refused.com'), false);
      const found = (await operator.unverified_registrants({})).registrants;
      const [one] = found.filter(({ workspace_id: id }) => id === workspace.workspaceId);
      assert.equal(one?.suspended_names, 1);
      assert.deepEqual(await eventsOf(workspace, 'domain.suspended'), []);
      answerWrongly(undefined);
      await later(HOUR_MS);
      await later(HOUR_MS);
      assert.ok(await isHeld('refused.com'));
    });

    soakTest?.(
      'a process that ends between its note and the registry’s answer leaves the name to the next',
      async () => {
        const workspace = await asked('abandoned.com');
        epp.clock.advance(15 * DAY_MS);
        const now = epp.clock.now();
        const until = new Date(now.getTime() + 60_000);
        await systemDb(db)
          .updateTable('domains')
          .set({ unverified_at: now, hold_look_at: until, hold_lease_until: until })
          .where('name', '=', 'abandoned.com')
          .execute();
        await later(0);
        assert.equal(await isHeld('abandoned.com'), false, 'another process may be at it');
        await complete(lastCode(workspace));
        await later(60_000);
        assert.equal(await isHeld('abandoned.com'), false);
        assert.deepEqual(await suspendedFor(workspace, 'abandoned.com'), []);
      },
    );
  });

  describe('the operator', () => {
    test('lists who has not confirmed, verifies by hand with a reason, and asks again', async () => {
      const workspace = await overdue('by-hand.com');
      const find = async () =>
        (await operator.unverified_registrants({})).registrants.find(
          ({ workspace_id: id }) => id === workspace.workspaceId,
        );
      const found = await find();
      assert.deepEqual(
        [found?.email, found?.suspended_names, found?.suspends_at],
        [emailOf(workspace), 1, (await verificationOf(workspace)).suspends_at],
      );
      const wanted = { workspace: emailOf(workspace) };
      const { email } = await operator.verify_registrant({ ...wanted, reason: 'called back' });
      assert.equal(email, emailOf(workspace));
      await later(0);
      assert.deepEqual(
        [await isHeld('by-hand.com'), await find(), await stateOf(workspace)],
        [false, undefined, 'verified'],
      );
      const [, verified] = await eventsOf(workspace, 'registrant.');
      assert.deepEqual(verified, ['registrant.verified', { email, verified_by: 'operator', reason: 'called back' }]);

      await operator.ask_registrant(wanted);
      await later(0);
      assert.equal(await stateOf(workspace), 'waiting');
      await later(15 * DAY_MS - 1);
      assert.equal(await isHeld('by-hand.com'), false);
      await later(1);
      assert.ok(await isHeld('by-hand.com'));
    });

    soakTest?.('verifies registrants before their names come, who are asked nothing then', async () => {
      const workspace = await owner();
      await operator.verify_registrant({ workspace: workspace.workspaceId, reason: 'at the former registrar' });
      await workspace.post('/domains', { domain: 'imported.com', confirm_price });
      await later(16 * DAY_MS);
      assert.deepEqual([await isHeld('imported.com'), mailsTo(workspace)], [false, []]);
    });

    soakTest?.(
      'corrects a wrong address, which is to be confirmed like any other, and no other account has',
      async () => {
        const workspace = await overdue('mistyped.com');
        const [old, email] = [lastCode(workspace), `right-${workspace.userId}@example.com`];
        const wanted = { workspace: workspace.workspaceId };
        const corrected = await operator.correct_registrant({ ...wanted, email });
        assert.deepEqual([corrected.email, corrected.previous_email], [email, emailOf(workspace)]);
        assert.equal((await workspace.get('/registrant')).body.email, email);
        await later(0);
        assert.deepEqual(refusal(await complete(old)), [401, 'invalid_token']);
        assert.ok(await isHeld('mistyped.com'));
        const [, code = ''] = /#(\S+)$/m.exec(outbox.findLast(({ to }) => to === email)?.text ?? '') ?? [];
        assert.equal((await complete(code)).status, 200);
        await later(0);
        assert.equal(await isHeld('mistyped.com'), false);

        const other = await service.createWorkspace();
        const taken = operator.correct_registrant({ ...wanted, email: emailOf(other).toUpperCase() });
        await assert.rejects(async () => taken, /Another account has the address/);
        await assert.rejects(async () => operator.correct_registrant({ ...wanted, email: 'nobody' }), OperatorError);
        assert.equal((await workspace.get('/registrant')).body.email, email);
      },
    );
  });
}
