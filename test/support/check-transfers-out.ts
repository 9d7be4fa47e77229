/** Names of ours that another registrar asks for, over EPP, with a second registrar that speaks EPP too. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { createParentServers } from '../../src/domains/dns/delegation/index.ts';
import { createEmbeddedPublisher, type EmbeddedPublisher } from '../../src/domains/dns/embedded/index.ts';
import type { Message } from '../../src/domains/mail/index.ts';
import { createOperator } from '../../src/domains/operator/index.ts';
import { systemClock } from '../../src/kernel/clock/clock.ts';
import type { Share } from '../conformance/take-turns.ts';
import { startParentServer } from '../fakes/parent-server.ts';
import { askDns, question } from './dns-questions.ts';
import { NAMESERVERS, type TestWorkspace } from './domains.ts';
import { startDomainsOverEpp } from './domains-over-epp.ts';
import { rejectionOf, THEIR_PASSWORD } from './epp.ts';
import { refusal } from './orders.ts';
import { done } from './simulated-registry.ts';
import { eventually } from './turns.ts';

export async function testTransfersOut(share: Share): Promise<void> {
  const soakTest = share === 'all' ? test : undefined;
  const HOUR_MS = 3_600_000;
  const DAY_MS = 24 * HOUR_MS;

  const mails: Message[] = [];
  let isMailDown = false;
  const mailer = {
    async send(message: Message) {
      if (isMailDown) throw new Error('the mail server is away');
      mails.push(message);
    },
  };
  const parent = await startParentServer();
  const delegations = createParentServers({ findServers: async () => [{ address: '127.0.0.1', port: parent.port }] });
  const started: EmbeddedPublisher[] = [];
  const service = await startDomainsOverEpp({
    mailer,
    endpoint: { connections: 3 },
    parts: {
      delegations,
      publisher: ({ db, logger }) => {
        const options = { db, logger, nameservers: NAMESERVERS, host: '127.0.0.1', port: 0, clock: systemClock };
        const publisher = createEmbeddedPublisher(options);
        started.push(publisher);
        return publisher;
      },
    },
  });
  const { db, deliver, owner } = service;
  const { clock, core, ours, theirs } = service.epp;
  const other = await service.epp.connect({ clientId: theirs.registrarId, password: THEIR_PASSWORD });
  const operator = createOperator({ db, clock });
  after(async () => {
    await service.close();
    await parent.close();
  });
  afterEach(() => service.letNamesGo());

  async function later(ms: number): Promise<void> {
    await service.later(ms);
    await service.domains.watchTransfers();
    await service.domains.followDelegations();
  }

  /** By the other registrar, with the right code. */
  async function ask(name: string) {
    const { authInfo = '' } = done(await core.infoDomain(ours, { name }));
    return other.transfer({ name, authCode: authInfo, years: 1, transactionId: `trn_${name}` });
  }

  async function asked(name: string): Promise<TestWorkspace> {
    const workspace = await owner(name);
    await workspace.get(`/domains/${name}`);
    assert.equal((await ask(name)).kind, 'pending');
    await later(1_000);
    return workspace;
  }

  const decide = (workspace: TestWorkspace, name: string, what: 'approve' | 'reject', headers = {}) =>
    workspace.post(`/domains/${name}/transfer-out/${what}`, {}, headers);
  const subjects = (name: string) =>
    mails.filter(({ subject }) => subject.includes(name)).map(({ subject }) => subject.replace(name, 'NAME'));
  const ASKED = 'NAME: another registrar asks for it';
  const answerOf = async (name: string) => {
    const { answers } = await askDns(started[0]?.port ?? 0, question(`www.${name}`, 'A'));
    return answers?.map((record) => ('data' in record ? record.data : ''));
  };
  /** A nameserver learns of a change a moment after it has committed. */
  const becomes = (name: string, expected: readonly string[]) =>
    eventually(
      async () => (await answerOf(name))?.join() === expected.join() || undefined,
      `${name} is answered as ${expected}`,
    );

  test('a request is shown, told by mail once, and can be rejected', async () => {
    const name = 'rejected.com';
    const workspace = await asked(name);
    const [entry] = (await workspace.get('/domains')).body.domains;
    const details = (await workspace.get(`/domains/${name}`)).body;
    const requestedAt = clock.now().getTime() - 1_000;
    for (const { status, transfer_out: transfer } of [entry, details]) {
      assert.equal(status, 'PendingTransfer');
      assert.deepEqual(transfer, {
        state: 'pending',
        requested_by: theirs.registrarId,
        requested_at: new Date(requestedAt).toISOString(),
        acts_at: new Date(requestedAt + 5 * DAY_MS).toISOString(),
        decision: null,
        refusal: null,
      });
    }
    await later(HOUR_MS);
    assert.deepEqual(subjects(name), [ASKED]);
    const [mail] = mails.filter(({ subject }) => subject.includes(name));
    assert.match(mail?.text ?? '', /POST \/domains\/rejected\.com\/transfer-out\/reject/);
    const rejected = await decide(workspace, name, 'reject', { 'idempotency-key': 'no' });
    assert.deepEqual([rejected.status, rejected.body.status], [200, 'Completed'], rejected.text);
    assert.deepEqual([rejected.body.transfer_out.state, rejected.body.transfer_out.decision], ['rejected', 'reject']);
    const replayed = await decide(workspace, name, 'reject', { 'idempotency-key': 'no' });
    assert.deepEqual([replayed.body, replayed.headers.get('idempotent-replay')], [rejected.body, 'true']);
    assert.equal((await decide(workspace, name, 'reject')).body.status, 'Completed');
    assert.equal((await workspace.get(`/domains/${name}`)).body.status, 'Active');
    await later(6 * DAY_MS);
    assert.deepEqual(subjects(name), [ASKED, 'NAME stays: the transfer was rejected']);
    assert.equal(done(await core.infoDomain(ours, { name })).sponsor, ours.registrarId);
    assert.deepEqual(refusal(await decide(workspace, name, 'approve')), [422, 'transfer_failed']);
  });

  describe('a name that is let go', () => {
    test('is shown as such, retired as a missing name is, and its zone is served until the delegation has moved', async () => {
      const name = 'approved.com';
      const workspace = await asked(name);
      await workspace.post(`/domains/${name}/zone`, { subdomain: 'www', type: 'A', value: '192.0.2.7' });
      parent.delegations.set(name, { nameservers: NAMESERVERS, ttlSeconds: 2 * 86_400 });
      const approved = await decide(workspace, name, 'approve');
      assert.deepEqual([approved.status, approved.body.status], [200, 'Completed'], approved.text);
      await later(1_000);
      const details = (await workspace.get(`/domains/${name}`)).body;
      assert.deepEqual([details.status, details.transfer_out.state], ['TransferredAway', 'approved']);
      assert.deepEqual(subjects(name), [ASKED, 'NAME has been transferred to another registrar']);
      assert.deepEqual(await answerOf(name), ['192.0.2.7']);

      for (const _ of ['8 h', '16 h', '24 h', '32 h']) await later(8 * HOUR_MS);
      assert.deepEqual(refusal(await workspace.get(`/domains/${name}`)), [404, 'not_found']);
      // It still is where it was: for as long as it likes.
      await later(10 * DAY_MS);
      assert.deepEqual(await answerOf(name), ['192.0.2.7']);
      parent.delegations.set(name, { nameservers: ['ns1.there.example'], ttlSeconds: 2 * 86_400 });
      await later(HOUR_MS);
      await later(DAY_MS);
      assert.deepEqual(await answerOf(name), ['192.0.2.7']);
      // Nobody answers for a while: it is not known, and served on.
      parent.mode = 'failing';
      await later(3 * DAY_MS);
      assert.deepEqual(await answerOf(name), ['192.0.2.7']);
      parent.mode = 'right';
      await later(HOUR_MS);
      await becomes(name, []);

      await operator.recover_name({ name });
      await becomes(name, ['192.0.2.7']);
      await db.query({ text: `update domains.domains set state = 'gone' where name = $1`, values: [name] });
    });

    soakTest?.('begins its wait anew where the delegation comes back', async () => {
      const name = 'wavering.com';
      const there = { nameservers: ['ns1.there.example'], ttlSeconds: 86_400 };
      const here = { ...there, nameservers: NAMESERVERS };
      parent.delegations.set(name, here);
      const workspace = await asked(name);
      await workspace.post(`/domains/${name}/zone`, { subdomain: 'www', type: 'A', value: '192.0.2.8' });
      await decide(workspace, name, 'approve');
      for (const _ of ['8 h', '16 h', '24 h', '32 h']) await later(8 * HOUR_MS);
      assert.equal((await workspace.get(`/domains/${name}`)).status, 404);
      for (const delegation of [there, here, there]) {
        parent.delegations.set(name, delegation);
        await later(20 * HOUR_MS);
      }
      assert.deepEqual(await answerOf(name), ['192.0.2.8']);
      await later(25 * HOUR_MS);
      await becomes(name, []);
    });

    test('goes by itself when its owner does not answer', async () => {
      const name = 'unanswered.com';
      const workspace = await asked(name);
      await later(5 * DAY_MS + 2 * 60_000);
      const { status, transfer_out: transfer } = (await workspace.get(`/domains/${name}`)).body;
      assert.deepEqual([status, transfer.state, transfer.decision], ['TransferredAway', 'approved', null]);
      assert.deepEqual(subjects(name), [ASKED, 'NAME has been transferred to another registrar']);
      assert.deepEqual(refusal(await decide(workspace, name, 'reject')), [422, 'transfer_failed']);
    });
  });

  test('without any message the daily look at a name finds the request, and its end', async () => {
    const name = 'unannounced.com';
    const workspace = await owner(name);
    await ask(name);
    await service.epp.drain(ours);
    await later(25 * HOUR_MS);
    assert.equal((await workspace.get('/domains')).body.domains[0].status, 'PendingTransfer');
    await later(0);
    assert.deepEqual(subjects(name), [ASKED]);
    done(await core.cancelTransfer(theirs, { name }));
    await service.epp.drain(ours);
    await later(25 * HOUR_MS);
    await later(0);
    const { status, transfer_out: transfer } = (await workspace.get(`/domains/${name}`)).body;
    assert.deepEqual([status, transfer.state], ['Active', 'cancelled']);
    assert.deepEqual(subjects(name), [ASKED, 'NAME stays: the transfer was cancelled']);
  });

  test('a registry that tells nobody of transfers is believed by the status of the name', async () => {
    const name = 'untold.com';
    const workspace = await owner(name);
    service.answerWrongly((command, wrong) => (command === 'transfer' && wrong === name ? 2201 : undefined));
    const { authInfo = '' } = done(await core.infoDomain(ours, { name }));
    done(await core.requestTransfer(theirs, { name, authInfo }));
    await later(1_000);
    const { status, transfer_out: transfer } = (await workspace.get(`/domains/${name}`)).body;
    assert.deepEqual([status, transfer.requested_by, transfer.acts_at], ['PendingTransfer', null, null]);
    assert.equal((await decide(workspace, name, 'reject')).body.status, 'Completed');
    service.answerWrongly(undefined);
  });

  test('transfer_failed: a decision that the registry refuses is dropped, and can be taken again', async () => {
    const name = 'refused.com';
    const workspace = await asked(name);
    service.answerWrongly((command, wrong) => (command === 'decide' && wrong === name ? 2201 : undefined));
    const refused = await decide(workspace, name, 'approve');
    assert.deepEqual([...refusal(refused), refused.body.details.state], [422, 'transfer_failed', 'pending']);
    const { transfer_out: transfer } = (await workspace.get(`/domains/${name}`)).body;
    assert.deepEqual([transfer.state, transfer.decision, transfer.refusal], ['pending', null, 'not_authorized']);
    service.answerWrongly(undefined);
    assert.equal((await decide(workspace, name, 'reject')).body.transfer_out.state, 'rejected');
  });

  test('a locked name cannot be asked for', async () => {
    const name = 'bolted-here.com';
    const workspace = await owner(name);
    await workspace.patch(`/domains/${name}/settings`, { registrar_lock: true });
    assert.equal(rejectionOf(await ask(name)), 'status_prohibits');
    await later(HOUR_MS);
    assert.equal((await workspace.get(`/domains/${name}`)).body.transfer_out, null);
  });

  test('a decision whose answer does not come is Pending, is sent again, and cannot be turned round meanwhile', async () => {
    const name = 'quiet.com';
    const workspace = await asked(name);
    let sent = 0;
    deliver(({ kind, registrarId }) => {
      if (kind !== 'domain:transfer' || registrarId !== ours.registrarId) return undefined;
      sent += 1;
      return { kind: 'silent' };
    });
    const pending = await decide(workspace, name, 'reject');
    assert.deepEqual([pending.status, pending.body.status], [200, 'Pending'], pending.text);
    assert.equal(pending.body.transfer_out.decision, 'reject');
    assert.equal(sent, 1);
    deliver(undefined);
    assert.deepEqual(refusal(await decide(workspace, name, 'approve')), [409, 'pending_operation']);
    service.cutConnections();
    await eventually(async () => {
      await later(2 * 60_000);
      return (await workspace.get(`/domains/${name}`)).body.transfer_out.state === 'rejected' || undefined;
    }, 'the transfer is rejected');
  });

  test('a decision that was carried out and whose answer is lost counts', async () => {
    const name = 'cut-short.com';
    const workspace = await asked(name);
    let isCut = false;
    deliver(({ kind, registrarId }) => {
      if (isCut || kind !== 'domain:transfer' || registrarId !== ours.registrarId) return undefined;
      isCut = true;
      return { kind: 'cut' };
    });
    const approved = await decide(workspace, name, 'approve');
    deliver(undefined);
    assert.deepEqual([approved.body.status, isCut], ['Completed', true], approved.text);
    assert.equal(done(await core.infoDomain(theirs, { name })).sponsor, theirs.registrarId);
  });

  soakTest?.('a mail that is not accepted is sent again', async () => {
    isMailDown = true;
    const name = 'mailless.com';
    await asked(name);
    assert.deepEqual(subjects(name), []);
    isMailDown = false;
    await later(5 * 60_000);
    assert.deepEqual(subjects(name), [ASKED]);
  });

  test('transfer_failed, not_found, insufficient_scope: nothing pending, another’s name, a token that may only read', async () => {
    const name = 'still-mine.com';
    const workspace = await owner(name);
    const nothing = await decide(workspace, name, 'reject');
    assert.deepEqual([...refusal(nothing), nothing.body.details.state], [422, 'transfer_failed', null]);
    assert.deepEqual(refusal(await decide(await owner(), name, 'approve')), [404, 'not_found']);
    const reading = await workspace.reader.post(`/domains/${name}/transfer-out/approve`, {});
    assert.deepEqual(refusal(reading), [403, 'insufficient_scope']);
  });

  test('internal: whether a silent registry has a request is not known, and said so', async () => {
    const name = 'unknowable.com';
    const workspace = await owner(name);
    deliver(({ kind, registrarId }) =>
      kind === 'domain:transfer' && registrarId === ours.registrarId ? { kind: 'silent' } : undefined,
    );
    const answer = await decide(workspace, name, 'reject');
    deliver(undefined);
    service.cutConnections();
    assert.deepEqual(refusal(answer), [500, 'internal']);
  });

  soakTest?.('a request that the registry has only just taken in can be decided at once', async () => {
    const name = 'just-now.com';
    const workspace = await owner(name);
    await ask(name);
    const rejected = await decide(workspace, name, 'reject');
    assert.deepEqual([rejected.status, rejected.body.transfer_out?.state], [200, 'rejected'], rejected.text);
  });

  soakTest?.(
    'messages that come last first, twice, or are not understood change nothing, and the last are kept',
    async () => {
      const unkind = await startDomainsOverEpp({
        mailer,
        messages: { newestFirst: true, twice: true },
        parts: { delegations },
      });
      try {
        const workspace = await unkind.owner('muddled.com');
        const { core: registry, ours: us, theirs: them, clock: time } = unkind.epp;
        const { authInfo = '' } = done(await registry.infoDomain(us, { name: 'muddled.com' }));
        done(await registry.requestTransfer(them, { name: 'muddled.com', authInfo }));
        time.advance(1_000);
        done(await registry.cancelTransfer(them, { name: 'muddled.com' }));
        time.advance(1_000);
        await registry.announce(us.registrarId, 'Maintenance on Sunday');
        done(await registry.requestTransfer(them, { name: 'muddled.com', authInfo }));
        await unkind.later(1_000);
        await unkind.domains.watchTransfers();
        const { transfer_out: transfer } = (await workspace.get('/domains/muddled.com')).body;
        assert.deepEqual(
          [transfer.state, transfer.requested_at],
          ['pending', new Date(time.now().getTime() - 1_000).toISOString()],
        );
        assert.deepEqual(subjects('muddled.com'), [ASKED]);
        assert.equal(done(await registry.requestMessage(us)), undefined, 'every message is acknowledged');
        const verbs = createOperator({ db: unkind.db, clock: time });
        const { messages } = await verbs.unknown_messages({});
        assert.deepEqual([...new Set(messages.map(({ text, name }) => `${name}${text}`))], ['Maintenance on Sunday']);
        for (const { number } of messages) await verbs.dismiss_message({ number });
        assert.deepEqual((await verbs.unknown_messages({})).messages, []);
        await assert.rejects(async () => verbs.dismiss_message({ number: 1 }), /no message 1/);
      } finally {
        await unkind.close();
      }
    },
  );
}
