/** An EPP client that is not ours, Debian's libnet-epp-perl, against our server. */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openTestDatabase } from '../support/database.ts';
import { openTestEpp, PASSWORD, THEIR_PASSWORD, testTls } from '../support/epp.ts';
import { requireProgram } from '../support/programs.ts';

const script = fileURLToPath(new URL('net-epp.pl', import.meta.url));
const missing = 'Perl has no Net::EPP here: apt-get install libnet-epp-perl';
const hasNetEpp = requireProgram(spawnSync('perl', ['-MNet::EPP::Simple', '-e', '1']).status === 0, missing);

test('Net::EPP registers, renews, updates, transfers and deletes a name', {
  skip: hasNetEpp ? false : missing,
}, async (t) => {
  const database = await openTestDatabase();
  t.after(() => database.close());
  const epp = await openTestEpp(database.db, { delays: { createSeconds: 0, renewSeconds: 0 } });
  t.after(() => epp.close());
  const { ours, theirs, server } = epp;
  const { stdout } = await promisify(execFile)(
    'perl',
    [
      script,
      String(server.port),
      testTls.certificateFile,
      ours.registrarId,
      PASSWORD,
      theirs.registrarId,
      THEIR_PASSWORD,
    ],
    { timeout: 60_000 },
  );
  assert.deepEqual(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.split('\t')),
    [
      ['wrong password', '2200'],
      ['login', '1'],
      ['ping', '1'],
      ['check free', '1'],
      ['check taken', '0'],
      ['create contact', '1'],
      ['check contact', '0'],
      ['info contact', 'PERL-1 Camels & Sons +1.5551234567'],
      ['create host', '1'],
      ['create host', '1'],
      ['check host', '0'],
      ['info host', 'ns1.perl.example'],
      ['create', '1'],
      ['info', 'net-epp.com PERL-1 2028-03-01T12:00:00.000Z ns1.perl.example ok'],
      ['renew', '1'],
      ['renew again', 'undef 2004 Parameter value range error'],
      ['expiry', '2029-03-01T12:00:00.000Z'],
      ['update', '1'],
      ['updated', 'second-secret ns2.perl.example clientDeleteProhibited'],
      [
        'delete locked',
        'undef 2304 Error 2304: Object status prohibits operation (net-epp.com has the status clientDeleteProhibited)',
      ],
      ['unlock', '1'],
      ['second login', '1'],
      ['transfer', `net-epp.com pending ${theirs.registrarId}`],
      ['poll loser', '1301 net-epp.com pending 1000'],
      ['reject transfer', '1'],
      ['poll winner', '1301 net-epp.com clientRejected 1000'],
      ['poll empty', '1300'],
      ['transfer again', '1'],
      ['approve transfer', '1'],
      ['sponsor', theirs.registrarId],
      ['delete as loser', 'undef 2201 Error 2201: Authorization error (net-epp.com belongs to another registrar)'],
      ['delete', '1'],
      ['logout', '1'],
      ['logout', '1'],
    ],
  );
});
