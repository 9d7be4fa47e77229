import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exposesPrivateNetwork } from './exposure.ts';

const CASES: readonly [host: string, publicUrl: string | undefined, isExposed: boolean][] = [
  ['127.0.0.1', undefined, false],
  ['127.8.9.1', undefined, false],
  ['::1', undefined, false],
  ['localhost', undefined, false],
  ['127.0.0.1', 'http://localhost:9000', false],
  ['::1', 'http://[::1]:9000', false],
  ['0.0.0.0', undefined, true],
  ['::', undefined, true],
  ['192.168.1.4', undefined, true],
  ['agents.internal', undefined, true],
  ['127.0.0.1.example', undefined, true],
  ['127.0.0.1', 'https://agents.example.com', true],
];

for (const [host, publicUrl, isExposed] of CASES) {
  test(`listening on ${host}${publicUrl === undefined ? '' : ` as ${publicUrl}`} ${isExposed ? 'exposes' : 'does not expose'} the network that tenants may call`, () => {
    assert.equal(exposesPrivateNetwork({ host, publicUrl, modelPrivateAddresses: 'allow' }), isExposed);
    assert.equal(exposesPrivateNetwork({ host, publicUrl, modelPrivateAddresses: 'deny' }), false);
  });
}
