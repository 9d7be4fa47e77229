/** Nameservers below a name, with their addresses, at registries of either model. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Share } from '../conformance/take-turns.ts';
import { startDomains, type TestDomains, type TestWorkspace } from './domains.ts';
import { startDomainsOverEpp, type TestDomainsOverEpp } from './domains-over-epp.ts';

export async function testGlue(share: Share): Promise<void> {
  const EXTERNAL = ['ns1.example.net', 'ns2.example.net'];
  const ONE = ['198.41.0.4', '2001:503:ba3e::2:30'];
  const TWO = ['199.9.14.201'];

  const soakTest = share === 'all' ? test : undefined;
  const simulated = await startDomains();
  const objects = await startDomainsOverEpp();
  const attributes =
    share === 'all'
      ? await startDomainsOverEpp({ habits: { nameservers: 'hostAttr' }, endpoint: { nameserverModel: 'hostAttr' } })
      : undefined;
  after(() => Promise.all([simulated.close(), objects.close(), attributes?.close()]));

  let count = 0;

  async function ownerAt(service: TestDomains): Promise<TestWorkspace> {
    const workspace = await service.createWorkspace();
    await workspace.fund(1_000_000);
    const contact = {
      street: '1 Mill Lane',
      city: 'London',
      postal_code: 'EC1',
      country: 'GB',
      phone: '+44.2071234567',
    };
    await workspace.patch('/registrant', { contact });
    return workspace;
  }

  /** Another name of the workspace. */
  async function register(workspace: TestWorkspace, label: string) {
    count += 1;
    const name = `${label}-${count}.com`;
    const bought = await workspace.post('/domains', { domain: name, confirm_price: 11.9 });
    assert.equal(bought.status, 201, bought.text);
    const hosts = [`ns1.${name}`, `ns2.${name}`] as const;
    const glue = [
      { host: hosts[0], addresses: ONE },
      { host: hosts[1], addresses: TWO },
    ];
    const path = `/domains/${name}`;
    const patch = (change: object) => workspace.patch(`${path}/settings`, change);
    return {
      name,
      hosts: [...hosts],
      glue,
      patch,
      listed: async () => (await workspace.get(`${path}/glue`)).body.glue,
    };
  }

  const registries: [string, TestDomains][] = [
    ['the simulated registry', simulated],
    ['a registry with host objects, over EPP', objects],
  ];
  if (attributes !== undefined) registries.push(['a registry with host attributes, over EPP', attributes]);

  for (const [what, service] of registries) {
    describe(what, () => {
      test('a name has nameservers of its own, whose addresses change and which go again', async () => {
        const workspace = await ownerAt(service);
        const { name, hosts, glue, patch, listed } = await register(workspace, 'own');
        const set = await patch({ nameservers: hosts, glue: [...glue].reverse() });
        assert.equal(set.status, 200, set.text);
        assert.deepEqual([set.body.settings.nameservers, set.body.settings.glue], [hosts, glue]);
        assert.deepEqual(await listed(), glue);
        const info = await service.registry.info(name, { withHosts: true });
        assert.deepEqual(info?.nameservers, hosts);
        assert.deepEqual(
          info?.hosts?.map(({ addresses }) => addresses),
          [ONE, TWO],
        );
        const moved = [{ host: hosts[0], addresses: ['192.33.4.12'] }, glue[1]];
        const changed = await patch({ glue: moved });
        assert.deepEqual([changed.status, changed.body.settings.glue], [200, moved], changed.text);
        assert.deepEqual(await listed(), moved);
        const away = await patch({ nameservers: EXTERNAL, glue: [] });
        assert.deepEqual([away.status, away.body.settings.nameservers, await listed()], [200, EXTERNAL, []], away.text);
      });

      test('one without its addresses is refused with what to do, and nothing is changed', async () => {
        const workspace = await ownerAt(service);
        const { hosts, glue, patch, listed } = await register(workspace, 'bare');
        const { status, body } = await patch({ nameservers: hosts, auto_renew: false });
        assert.deepEqual([status, body.error, body.details.param], [400, 'bad_request', 'nameservers']);
        assert.match(body.details.message, /`glue`/);
        const half = await patch({ nameservers: hosts, glue: glue.slice(0, 1) });
        assert.deepEqual([half.status, half.body.details.param], [400, 'glue']);
        assert.equal((await patch({ nameservers: hosts, glue })).status, 200);
        const taken = await patch({ glue: glue.slice(1) });
        assert.deepEqual([taken.status, taken.body.details.param, await listed()], [400, 'glue', glue]);
        const [entry] = (await workspace.get('/domains')).body.domains;
        assert.equal(entry.auto_renew, true);
      });

      test('while the name is locked they stay as they are', async () => {
        const { glue, hosts, patch, listed } = await register(await ownerAt(service), 'fixed');
        assert.equal((await patch({ registrar_lock: true })).status, 200);
        const locked = await patch({ nameservers: hosts, glue });
        assert.deepEqual([locked.status, locked.body.details.param, await listed()], [400, 'registrar_lock', []]);
        assert.equal((await patch({ registrar_lock: false, nameservers: hosts, glue })).status, 200);
      });

      test('a name is deleted with the nameservers below it', async () => {
        const workspace = await ownerAt(service);
        const { name, hosts, glue, patch } = await register(workspace, 'leaving');
        assert.equal((await patch({ nameservers: hosts, glue })).status, 200);
        const deleted = await workspace.delete(`/domains/${name}?confirm=${name}`);
        assert.equal(deleted.status, 200, deleted.text);
        assert.equal(await service.registry.info(name), undefined);
      });
    });
  }

  for (const [what, service] of registries.slice(0, 2)) {
    describe(`${what}: hosts that other names use`, () => {
      test('another name is delegated to them, and they stay until it is not', async () => {
        const workspace = await ownerAt(service);
        const { hosts, glue, patch, listed } = await register(workspace, 'provider');
        const other = await register(workspace, 'customer');
        const early = await other.patch({ nameservers: hosts });
        assert.equal(early.status, 400);
        assert.match(early.body.details.message, /does not have the nameserver ns1\..*`glue`/);
        // Nameservers for others alone: the name has those of the service.
        assert.equal((await patch({ glue })).status, 200);
        assert.deepEqual((await other.patch({ nameservers: hosts })).body.settings?.nameservers, hosts);
        assert.equal((await patch({ nameservers: hosts })).status, 200);
        const used = await patch({ nameservers: EXTERNAL, glue: [] });
        assert.deepEqual([used.status, used.body.details.reason], [400, 'in_use'], used.text);
        assert.match(used.body.details.message, /Other names have ns1\..* as their nameserver/);
        const { body } = await workspace.get('/domains');
        assert.deepEqual([body.domains.length, await listed()], [2, glue], 'all of it or nothing');
        assert.deepEqual((await patch({ auto_renew: true })).body.settings.nameservers, hosts);
        assert.equal((await other.patch({ nameservers: EXTERNAL })).status, 200);
        assert.equal((await patch({ nameservers: EXTERNAL, glue: [] })).status, 200);
        assert.deepEqual(await listed(), []);
      });

      test('a name below which others have their nameservers is not deleted', async () => {
        const workspace = await ownerAt(service);
        const { name, hosts, glue, patch, listed } = await register(workspace, 'needed');
        const other = await register(workspace, 'needing');
        assert.equal((await patch({ nameservers: hosts, glue })).status, 200);
        assert.equal((await other.patch({ nameservers: [hosts[1], EXTERNAL[0]] })).status, 200);
        const kept = await workspace.delete(`/domains/${name}?confirm=${name}`);
        assert.equal(kept.status, 422, kept.text);
        assert.match(kept.body.details.message, /Other names have ns2\./);
        assert.deepEqual((await service.registry.info(name))?.nameservers, hosts);
        assert.deepEqual(await listed(), glue);
        assert.equal((await other.patch({ nameservers: EXTERNAL })).status, 200);
        assert.equal((await workspace.delete(`/domains/${name}?confirm=${name}`)).status, 200);
      });
    });
  }

  describe('hosts and addresses that are none', () => {
    test('are refused by the member that has them', async () => {
      const { name, glue, hosts, patch, listed } = await register(await ownerAt(simulated), 'wrong');
      const addressed = (...addresses: string[]) => [{ host: hosts[0], addresses }];
      const cases: [object[], string][] = [
        [[{ host: 'ns1.example.net', addresses: ONE }], 'glue.0.host'],
        [[{ host: `x${name}`, addresses: ONE }], 'glue.0.host'],
        [[{ host: `ns_1.${name}`, addresses: ONE }], 'glue.0.host'],
        [[glue[0] ?? {}, { host: `NS1.${name}.`, addresses: TWO }], 'glue.1.host'],
        [addressed('198.41.0.4', 'ns1.example.net'), 'glue.0.addresses.1'],
        [addressed('10.0.0.1'), 'glue.0.addresses.0'],
        [addressed('127.0.0.1'), 'glue.0.addresses.0'],
        [addressed('192.0.2.1'), 'glue.0.addresses.0'],
        [addressed('::ffff:198.41.0.4'), 'glue.0.addresses.0'],
        [addressed('fe80::1%eth0'), 'glue.0.addresses.0'],
        [addressed('198.41.4'), 'glue.0.addresses.0'],
      ];
      for (const [given, param] of cases) {
        const { status, body } = await patch({ glue: given });
        assert.deepEqual([status, body.details?.param], [400, param], JSON.stringify(given));
      }
      for (const given of [
        addressed(),
        Array.from({ length: 14 }, (_, at) => ({ host: `n${at}.${name}`, addresses: ONE })),
      ]) {
        assert.equal((await patch({ glue: given })).status, 400);
      }
      assert.deepEqual(await listed(), []);
      const own = [{ host: name, addresses: ['2001:0503:BA3E:0::2:30', '2001:503:ba3e::2:30'] }];
      const written = await patch({ nameservers: [name, EXTERNAL[0]], glue: own });
      assert.deepEqual(written.body.settings.glue, [{ host: name, addresses: ['2001:503:ba3e::2:30'] }], written.text);
    });

    soakTest?.('attributes have addresses of the name’s own nameservers alone', async () => {
      const { glue, patch } = await register(await ownerAt(attributes ?? simulated), 'idle');
      const { status, body } = await patch({ glue });
      assert.equal(status, 400);
      assert.match(body.details.message, /make ns1\..* one of them, or leave it out/);
    });
  });

  describe('over EPP, an answer that is lost', () => {
    const cut = (service: TestDomainsOverEpp, kind: string) =>
      service.deliver((command) => {
        if (command.kind !== kind) return undefined;
        service.deliver(undefined);
        return { kind: 'cut' };
      });

    test('to any of the commands leaves what the repeated call completes', async () => {
      const workspace = await ownerAt(objects);
      const { glue, hosts, patch, listed } = await register(workspace, 'cut');
      // What is half done is finished in any case.
      const changes: [string, object, object[], unknown][] = [
        ['domain:update', { nameservers: hosts, glue }, glue, 'Pending'],
        [
          'host:update',
          { glue: [{ ...glue[0], addresses: TWO }, glue[1]] },
          [{ ...glue[0], addresses: TWO }, glue[1] ?? {}],
          'internal',
        ],
        ['host:delete', { nameservers: EXTERNAL, glue: [] }, [], 'Pending'],
      ];
      for (const [kind, change, expected, said] of changes) {
        cut(objects, kind);
        const lost = await patch(change);
        assert.equal(lost.body.status ?? lost.body.error, said, `${kind}: ${lost.text}`);
        const again = await patch(change);
        assert.equal(again.status, 200, again.text);
        assert.deepEqual(await listed(), expected);
      }
    });

    test('to the deletion of a host leaves a name that the next attempt deletes', async () => {
      const workspace = await ownerAt(objects);
      const { name, glue, hosts, patch } = await register(workspace, 'gone');
      assert.equal((await patch({ nameservers: hosts, glue })).status, 200);
      cut(objects, 'host:delete');
      const first = await workspace.delete(`/domains/${name}?confirm=${name}`);
      assert.notEqual(first.status, 422, first.text);
      await objects.later(120_000);
      await objects.domains.resendDeletions();
      assert.equal(await objects.registry.info(name), undefined);
    });
  });
}
