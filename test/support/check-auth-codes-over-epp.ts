/** How long auth codes work, over EPP: at registries where a name may have none (RFC 9154), and at others. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Message } from '../../src/domains/mail/index.ts';
import { EXTENSION_URIS, SECURE_AUTH_INFO } from '../../src/domains/registry/epp/namespaces.ts';
import type { Share } from '../conformance/take-turns.ts';
import type { TestWorkspace } from './domains.ts';
import { startDomainsOverEpp } from './domains-over-epp.ts';
import { rejectionOf, THEIR_PASSWORD } from './epp.ts';
import { done, testContact } from './simulated-registry.ts';

export async function testAuthCodes(share: Share): Promise<void> {
  const DAY_MS = 86_400_000;
  const confirm_price = 11.9;

  for (const isEmptied of share === 'all' ? [true, false] : [true]) {
    describe(
      isEmptied ? 'a registry where names may have no code' : 'a registry where each name has a code',
      async () => {
        const mails: Message[] = [];
        const extensionUris = isEmptied ? EXTENSION_URIS : EXTENSION_URIS.filter((uri) => uri !== SECURE_AUTH_INFO);
        const service = await startDomainsOverEpp({
          mailer: { send: async (message) => void mails.push(message) },
          endpoint: { extensionUris },
        });
        const { db, domains, owner } = service;
        const { clock, core, ours, theirs } = service.epp;
        const other = await service.epp.connect({ clientId: theirs.registrarId, password: THEIR_PASSWORD });
        after(() => service.close());

        const codeOf = async (name: string) => done(await core.infoDomain(ours, { name })).authInfo ?? '';
        const take = (name: string, authCode: string) =>
          other.transfer({ name, authCode, years: 1, transactionId: `trn_${name}_${authCode.length}` });

        async function ask(workspace: TestWorkspace, name: string): Promise<string> {
          const { status, text } = await workspace.post(`/domains/${name}/auth-code`);
          assert.equal(status, 200, text);
          return /\n(\S{22})\n/.exec(mails.at(-1)?.text ?? '')?.[1] ?? '';
        }

        async function pass(days: number): Promise<void> {
          clock.advance(days * DAY_MS);
          await domains.lookAfterAuthCodes();
        }

        function assertTakenAway(left: string, codes: readonly string[]): void {
          assert.ok(!codes.includes(left), 'the registry has it still');
          assert.equal(left === '', isEmptied, left);
        }

        test('a code works for two weeks, and the registry forgets it then', async () => {
          const workspace = await owner('weeks.com');
          const code = await ask(workspace, 'weeks.com');
          assert.equal(await codeOf('weeks.com'), code);
          assert.match(
            mails.at(-1)?.text ?? '',
            new RegExp(new Date(clock.now().getTime() + 14 * DAY_MS).toISOString().slice(0, 10)),
          );
          await pass(13.9);
          assert.equal(await codeOf('weeks.com'), code);
          await pass(0.2);
          assertTakenAway(await codeOf('weeks.com'), [code]);
          assert.equal(rejectionOf(await take('weeks.com', code)), 'bad_auth_code');
          if (isEmptied) assert.equal((await take('weeks.com', '')).kind, 'rejected');
        });

        test('one that is asked for again is another, and has its own two weeks', async () => {
          const workspace = await owner('again.com');
          const first = await ask(workspace, 'again.com');
          clock.advance(10 * DAY_MS);
          const second = await ask(workspace, 'again.com');
          assert.notEqual(second, first);
          await pass(5);
          assert.equal(await codeOf('again.com'), second);
          await pass(10);
          assertTakenAway(await codeOf('again.com'), [first, second]);
        });

        test('no table has a code, and one whose answer was lost is taken away too', async () => {
          const workspace = await owner('kept-nowhere.com');
          const code = await ask(workspace, 'kept-nowhere.com');
          const tables = await db.query<{ table_name: string }>({
            text: `select table_name from information_schema.tables
          where table_schema = 'domains' and table_name not like 'registry%'`,
          });
          for (const { table_name: table } of tables.rows) {
            const { rows } = await db.query({
              text: `select from domains."${table}" stored where position($1 in stored::text) > 0`,
              values: [code],
            });
            assert.deepEqual([table, rows.length], [table, 0]);
          }
          service.deliver(({ kind }) => (kind === 'domain:update' ? { kind: 'cut' } : undefined));
          assert.equal((await workspace.post('/domains/kept-nowhere.com/auth-code')).status, 500);
          service.deliver(undefined);
          const lost = await codeOf('kept-nowhere.com');
          assert.notEqual(lost, code);
          await pass(15);
          assertTakenAway(await codeOf('kept-nowhere.com'), [code, lost]);
        });

        test('the code that a name came with is known to its former registrar, and is replaced', async () => {
          await core.createContact(theirs, testContact('CAME'));
          done(
            await core.createDomain(theirs, {
              name: 'came.com',
              years: 1,
              registrant: 'CAME',
              authInfo: 'known-to-others',
            }),
          );
          const workspace = await owner();
          const bought = await workspace.post('/domains/came.com/transfer', {
            confirm_price,
            auth_code: 'known-to-others',
          });
          assert.equal(bought.status, 201, bought.text);
          await service.later(6 * DAY_MS);
          await service.later(3_600_000);
          assert.equal((await workspace.get('/domains/came.com')).body.status, 'Active');
          await domains.lookAfterAuthCodes();
          assertTakenAway(await codeOf('came.com'), ['known-to-others']);
        });
      },
    );
  }
}
