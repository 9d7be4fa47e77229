import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dsRecordOf, isDigestOfKey } from './dns-key.ts';

/** RFC 4509 2.3, RFC 6605 6.1 and 6.2. */
const examples = [
  {
    name: 'dskey.example.com',
    algorithm: 5,
    digestType: 2,
    keyTag: 60_485,
    flags: 256,
    publicKey:
      'AQOeiiR0GOMYkDshWoSKz9XzfwJr1AYtsmx3TGkJaNXVbfi/2pHm822aJ5iI9BMzNXxeYCmZDRD99WYwYqUSdjMmmAphXdvxegXd/M5+X7OrzKBaMbCVdFLUUh6DhweJBjEVv5f2wwjM9XzcnOf+EPbtG9DMBmADjFDc2w/rljwvFw==',
    digest: 'D4B7D520E7BB5F0F67674A0CCEB1E3E0614B93C4F9E99B8383F6A1E4469DA50A',
  },
  {
    name: 'Example.Net',
    algorithm: 13,
    digestType: 2,
    keyTag: 55_648,
    flags: 257,
    publicKey: 'GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA==',
    digest: 'B4C8C1FE2E7477127B27115656AD6256F424625BF5C1E2770CE6D6E37DF61D17',
  },
  {
    name: 'example.net',
    algorithm: 14,
    digestType: 4,
    keyTag: 10_771,
    flags: 257,
    publicKey:
      'xKYaNhWdGOfJ+nPrL8/arkwf2EY3MDJ+SErKivBVSum1w/egsXvSADtNJhyem5RCOpgQ6K8X1DRSEkrbYQ+OB+v8/uX45NBwY8rp65F6Glur8I/mlVNgF6W/qTI37m40',
    digest: '72D7B62976CE06438E9C0BF319013CF801F09ECC84B8D7E9495F27E305C6A9B0563A9B5F4D288405C3008A946DF983D6',
  },
];

for (const { name, algorithm, digest, digestType, flags, keyTag, publicKey } of examples) {
  test(`the DS record of a key is that of the standard: algorithm ${algorithm}`, () => {
    const key = { flags, publicKey };
    const record = dsRecordOf(name, algorithm, key, digestType);
    assert.deepEqual(record, { keyTag, algorithm, digestType, digest, key });
    assert.equal(isDigestOfKey(name, record), true);
    assert.equal(isDigestOfKey('another.net', record), false);
    assert.equal(isDigestOfKey(name, { ...record, keyTag: keyTag + 1 }), false);
    assert.equal(isDigestOfKey(name, { keyTag, algorithm, digestType, digest }), false);
  });
}
