import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { batchChanges, diffRecordSets, toServed } from './diff-record-sets.ts';
import { contentKey, toPowerDns } from './record-content.ts';

describe('values as PowerDNS spells them', () => {
  const cases: readonly (readonly [type: string, value: string, expected: string])[] = [
    ['TXT', 'plain words', '"plain" "words"'],
    ['TXT', '"grüße"', '"gr\\195\\188\\195\\159e"'],
    ['TXT', '"a\\"b\\\\c\\059d"', '"a\\"b\\\\c;d"'],
    ['TXT', '""', '""'],
    ['TXT', `"${'x'.repeat(511)}"`, `"${'x'.repeat(255)}" "${'x'.repeat(255)}" "x"`],
    ['CAA', '0 issue letsencrypt.org', '0 issue "letsencrypt.org"'],
    ['CAA', '128  iodef   "mailto:a@b.test"', '128 iodef "mailto:a@b.test"'],
    ['AAAA', '2001:0DB8::0001', '2001:db8::1'],
    ['AAAA', '::ffff:192.0.2.1', '::ffff:c000:201'],
    ['TLSA', '3 1 1 AABB CCDD', '3 1 1 aabbccdd'],
    ['SSHFP', '4 2 AABB CC', '4 2 aabbcc'],
    ['MX', '10   mail.example.com.', '10 mail.example.com.'],
    ['NAPTR', '100 10  "u" "a  b" "" .', '100 10 "u" "a  b" "" .'],
  ];
  for (const [type, value, expected] of cases) {
    it(`${type} ${value.slice(0, 30)}`, () => assert.equal(toPowerDns(type, value), expected));
  }

  it('two spellings of one value count as equal, and the case of a text does not vanish', () => {
    assert.equal(contentKey('AAAA', '::ffff:1.2.3.4'), contentKey('AAAA', '::FFFF:102:304'));
    assert.equal(contentKey('MX', '10 Mail.Example.com.'), contentKey('MX', '10 mail.example.com.'));
    assert.notEqual(contentKey('TXT', '"Key"'), contentKey('TXT', '"key"'));
  });
});

describe('changes for PowerDNS', () => {
  const a = { name: 'a.test', type: 'A', ttl: 60, values: ['192.0.2.1'] };
  const soa = { name: 'test', type: 'SOA', ttl: 60, values: ['ns.test. h.test. 1 2 3 4 5'] };

  it('are none for what is served already, whatever its order and case', () => {
    const wanted = { ...a, values: ['192.0.2.2', '192.0.2.1'] };
    const served = toServed({ ...wanted, name: 'A.test', values: wanted.values.toReversed() });
    assert.deepEqual(diffRecordSets([served], [wanted]), []);
  });

  it('delete before they replace, and have the SOA last', () => {
    const served = [soa, a].map(toServed);
    const cname = { ...a, type: 'CNAME', values: ['b.test.'] };
    const newSoa = { ...soa, values: ['ns.test. h.test. 2 2 3 4 5'] };
    const changes = diffRecordSets(served, [newSoa, cname]).map(({ changetype, type }) => `${changetype} ${type}`);
    assert.deepEqual(changes, ['DELETE A', 'REPLACE CNAME', 'REPLACE SOA']);
  });

  it('of one name stay in one batch, and no batch grows without bound', () => {
    const sets = Array.from({ length: 400 }, (_, index) => [
      { ...a, name: `h${String(index).padStart(3, '0')}.test` },
      { ...a, name: `h${String(index).padStart(3, '0')}.test`, type: 'TXT', values: [`"${'x'.repeat(4_000)}"`] },
    ]).flat();
    const batches = batchChanges(diffRecordSets([], sets));
    assert.ok(batches.length > 2);
    assert.equal(batches.flat().length, 800);
    for (const batch of batches) {
      assert.ok(JSON.stringify(batch).length < 600 * 1024);
      assert.equal(batch[0]?.type, 'A');
      assert.equal(batch.at(-1)?.type, 'TXT');
    }
  });
});
