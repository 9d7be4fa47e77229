import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allowsAddress, allowsHost, parseAllowEntry } from './allow-list.ts';
import { type AddressClass, classifyAddress } from './classify-address.ts';

const ADDRESSES: Readonly<Record<AddressClass, readonly string[]>> = {
  public: [
    '8.8.8.8',
    '1.1.1.1',
    '172.15.255.255',
    '172.32.0.0',
    '100.63.255.255',
    '2606:4700::1111',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
  ],
  private: [
    '127.0.0.1',
    '127.255.255.254',
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '100.127.255.255',
    '::1',
    'fc00::1',
    'fd12:3456::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:10.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b::a00:1',
  ],
  special: [
    '192.0.0.1',
    '192.0.2.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '240.0.0.1',
    '192.88.99.1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2002:808:808::1',
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
    '64:ff9b:1::1',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
    '100::1',
    '2001:2::1',
    '3fff::1',
    '5f00::1',
    '4000::1',
    '1::1',
  ],
  forbidden: [
    '0.0.0.0',
    '0.1.2.3',
    '::',
    '169.254.169.254',
    '169.254.0.1',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'fd00:ec2::254',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    '224.0.0.1',
    '239.255.255.255',
    '255.255.255.255',
    'ff02::1',
    '::ffff:169.254.169.254',
    '::ffff:0.0.0.0',
    '64:ff9b::a9fe:a9fe',
    'fd20:ce::254',
    '',
    'localhost',
    'not an address',
  ],
};

for (const [expected, addresses] of Object.entries(ADDRESSES)) {
  for (const address of addresses) {
    test(`${address || '(empty)'} is ${expected}`, () => assert.equal(classifyAddress(address), expected));
  }
}

test('an allow list names hosts, addresses and networks, with or without port', () => {
  const list = [
    'Intranet.example.',
    'wiki:8080',
    '10.1.0.0/16',
    '127.0.0.1:9000',
    '[fd00::5]:443',
    'fd11::/32',
    'fd00::9',
  ].map(parseAllowEntry);
  assert.ok(allowsHost(list, 'intranet.EXAMPLE', 80) && allowsHost(list, 'intranet.example.', 81));
  assert.ok(allowsHost(list, 'wiki', 8080) && !allowsHost(list, 'wiki', 80));
  assert.ok(!allowsHost(list, 'evil-intranet.example', 80) && !allowsHost(list, 'intranet.example.evil', 80));
  assert.ok(allowsAddress(list, '10.1.255.255', 1) && allowsAddress(list, '::ffff:10.1.0.1', 1));
  assert.ok(!allowsAddress(list, '10.2.0.0', 1));
  assert.ok(allowsAddress(list, '127.0.0.1', 9000) && !allowsAddress(list, '127.0.0.1', 9001));
  assert.ok(allowsAddress(list, 'fd00::5', 443) && !allowsAddress(list, 'fd00::5', 80));
  assert.ok(
    allowsAddress(list, 'fd11:0:1::', 1) && allowsAddress(list, 'fd00::9', 1) && !allowsAddress(list, 'fd12::', 1),
  );
});

for (const entry of ['', 'http://x', '10.0.0.0/33', 'x/8', 'host:0', 'host:70000', '*.example', 'a b', '-x']) {
  test(`"${entry}" is no entry of an allow list`, () => assert.throws(() => parseAllowEntry(entry), TypeError));
}
