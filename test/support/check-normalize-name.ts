import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { toASCII } from 'tr46';
import { type DomainName, normalizeName, underSuffix } from '../../src/domains/names/normalize-name.ts';
import { ApiError } from '../../src/kernel/http/errors.ts';
import type { Share } from '../conformance/take-turns.ts';

export async function testNormalizeName(share: Share): Promise<void> {
  /** The message of the refusal; fails when the text is taken, or something else is thrown. */
  function refusalOf(text: string): string {
    try {
      const { ascii } = normalizeName(text);
      assert.fail(`${JSON.stringify(text)} was taken as ${ascii}`);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      assert.equal(error.code, 'bad_request');
      assert.equal(error.detail.param, 'domain');
      return error.message;
    }
  }

  /** The name, or undefined where it is refused as it should be. */
  function tryNormalize(text: string): DomainName | undefined {
    try {
      return normalizeName(text);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'bad_request') throw error;
      return undefined;
    }
  }

  test('a name is lower case, in punycode, without its last dot, and apart from its suffix', () => {
    const cases: [string, string, string, string][] = [
      ['example.com', 'example.com', 'example.com', 'com'],
      ['EXAMPLE.Com.', 'example.com', 'example.com', 'com'],
      ['example.co.uk', 'example.co.uk', 'example.co.uk', 'co.uk'],
      ['Bücher.co.uk', 'xn--bcher-kva.co.uk', 'bücher.co.uk', 'co.uk'],
      ['XN--BCHER-KVA.de', 'xn--bcher-kva.de', 'bücher.de', 'de'],
      ['bu\u0308cher.de', 'xn--bcher-kva.de', 'bücher.de', 'de'],
      ['faß.de', 'xn--fa-hia.de', 'faß.de', 'de'],
      ['ｅｘａｍｐｌｅ。com', 'example.com', 'example.com', 'com'],
      ['example.com。', 'example.com', 'example.com', 'com'],
      ['пример.рф', 'xn--e1afmkfd.xn--p1ai', 'пример.рф', 'xn--p1ai'],
      ['a.公司.cn', 'a.xn--55qx5d.cn', 'a.公司.cn', 'xn--55qx5d.cn'],
      ['מזל.com', 'xn--bebme.com', 'מזל.com', 'com'],
      ['3com.com', '3com.com', '3com.com', 'com'],
      ['example.zzz', 'example.zzz', 'example.zzz', 'zzz'],
    ];
    for (const [text, ascii, unicode, tld] of cases) {
      const label = ascii.slice(0, -tld.length - 1);
      assert.deepEqual(normalizeName(text), { ascii, unicode, label, tld }, text);
    }
  });

  test('suffixes that private owners run are names like any other', () => {
    assert.deepEqual(normalizeName('github.io').tld, 'io');
    assert.match(refusalOf('user.github.io'), /send `github\.io`/);
  });

  test('a name with more or fewer labels than one under its suffix is refused, saying what to send', () => {
    assert.match(refusalOf('www.example.com'), /send `example\.com`/);
    assert.match(refusalOf('a.b.example.co.uk'), /send `example\.co\.uk`/);
    assert.match(refusalOf('co.uk'), /Put a label in front of it, like `example\.co\.uk`/);
    assert.match(refusalOf('com'), /Put a label in front/);
    assert.match(refusalOf('whatever.ck'), /Put a label in front/);
    assert.match(refusalOf('example'), /no top level/);
  });

  test('what is not a bare name is refused, saying what it is', () => {
    const cases: [string, RegExp][] = [
      ['', /empty/],
      [' \t', /empty/],
      ['https://example.com', /URL/],
      ['//example.com', /path/],
      ['example.com/menu', /path/],
      ['example.com?q=1', /path/],
      ['example.com#top', /path/],
      ['example.com\\a', /path/],
      ['ada@example.com', /e-mail/],
      ['ada:secret@example.com', /e-mail/],
      ['example.com:443', /port/],
      ['[2001:db8::1]', /port or an IP address/],
      ['192.0.2.1', /IP address/],
      ['0x7f.1', /IP address/],
      ['example.123', /letters only/],
      ['exam ple.com', /blanks/],
      ['example.com\n', /blanks/],
      ['exam\u0000ple.com', /control/],
      ['*.example.com', /wildcard/],
      ['_dmarc.example.com', /underscore/],
      ['exam%20ple.com', /characters/],
      ['exam\ud800ple.com', /characters/],
    ];
    for (const [text, message] of cases) assert.match(refusalOf(text), message, JSON.stringify(text));
  });

  test('dots and hyphens stand where DNS lets them', () => {
    for (const text of ['example.com..', '.example.com', 'example..com', '.', '..', 'example.com。.']) {
      assert.match(refusalOf(text), /dot|empty/, text);
    }
    assert.match(refusalOf('-example.com'), /hyphen/);
    assert.match(refusalOf('example-.com'), /hyphen/);
    assert.match(refusalOf('ab--cd.com'), /third and fourth/);
    assert.equal(normalizeName('a-b--c.com').ascii, 'a-b--c.com');
  });

  test('a label has at most 63 characters in DNS, and a name 253', () => {
    assert.equal(normalizeName(`${'a'.repeat(63)}.com`).label.length, 63);
    assert.match(refusalOf(`${'a'.repeat(64)}.com`), /63/);
    assert.match(refusalOf(`${'ü'.repeat(60)}x${'ö'.repeat(10)}.com`), /63/);
    assert.match(refusalOf(`${'a'.repeat(62)}.`.repeat(5).concat('com')), /253/);
    assert.match(refusalOf('a'.repeat(5_000)), /253/);
  });

  test('punycode that UTS 46 would not have made is refused', () => {
    for (const text of [
      'xn--.com',
      'xn--a.com',
      'xn--example-.com',
      'xn--99zzzzzz9.com',
      'xn--BÜCHER.com',
      'xn--a-ecp.ru',
    ]) {
      assert.match(refusalOf(text), /punycode|characters/, text);
    }
    // "Bücher" with a capital letter, encoded as it is.
    assert.match(refusalOf('xn--Bcher-Kva8445foa.com'), /punycode|script|symbol/);
  });

  test('a label is written in one script, or in the mixtures of Japanese, Korean and Chinese', () => {
    for (const text of [
      '東京タワー.com',
      'ラーメンbar.com',
      '日本語abc.com',
      '서울타워abc.com',
      'ㄅㄆ漢字.com',
      'ёлка7.com',
      'αβγ.com',
    ]) {
      assert.equal(normalizeName(text).unicode, text);
    }
    for (const text of ['раypal.com', 'gооgle.com', 'αbc.com', 'サムスン삼성.com', 'абвαβγ.com', 'xn--pypal-4ve.com']) {
      assert.match(refusalOf(text), /mixes scripts/, text);
    }
    assert.match(refusalOf('𐌰𐌱𐌲.com'), /not in common use/);
    // Whole-script look-alikes are real words' letters, and stay.
    assert.equal(normalizeName('аррӏе.com').ascii, 'xn--80ak6aa92e.com');
  });

  test('symbols are refused, and contextual characters outside their context', () => {
    for (const text of ['i❤.com', 'مـن.com', 'ᄀ.com', '☃.com', 'a♥b.com', 'xn--ls8h.com', '½.com'])
      assert.match(refusalOf(text), /symbol|path|characters/, text);
    assert.equal(normalizeName('col·lecció.com').unicode, 'col·lecció.com');
    assert.match(refusalOf('a·b.com'), /middle dot/);
    assert.match(refusalOf('abc・def.com'), /katakana/);
    assert.equal(normalizeName('ア・イ.com').unicode, 'ア・イ.com');
    assert.match(refusalOf('صفحة١۲.com'), /characters/);
    assert.match(refusalOf('a\u200db.com'), /characters/);
  });

  test('a name can be moved under another suffix', () => {
    assert.deepEqual(underSuffix(normalizeName('bücher.com'), 'co.uk'), normalizeName('bücher.co.uk'));
  });

  test('the refusal names the member that held the text', () => {
    assert.throws(
      () => normalizeName('nothing', 'q'),
      (error) => error instanceof ApiError && error.detail.param === 'q',
    );
  });

  const pieces = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc.stringMatching(/^[a-z\d-]{1,20}$/),
    fc.stringMatching(/^xn--[a-z\d-]{1,20}$/),
    fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 }).map((units) => String.fromCharCode(...units)),
    fc.constantFrom(
      'com',
      'co.uk',
      'рф',
      'ß',
      'İ',
      '\u200d',
      '\u00ad',
      'اب',
      '漢字',
      'ﾃｽﾄ',
      'xn--',
      'XN--',
      '…',
      '\ufb03',
      '\u0000',
      '\ud83d',
    ),
  );
  const texts = fc
    .array(fc.tuple(pieces, fc.constantFrom('', '.', '.', '。', '-')), { maxLength: 6 })
    .map((parts) => parts.flat().join(''));
  const writtenLabels = fc
    .constantFrom(
      'abcxyz019',
      'aäöüßéñçøœı',
      'абвгджёї',
      'αβγδςώ',
      '東京寿司漢字',
      'あいうアイウーー',
      '한글서울',
      'אבגד',
      'اببتة',
      'ลำไย',
    )
    .chain((letters) => fc.array(fc.constantFrom(...letters, '-', '7'), { minLength: 1, maxLength: 20 }))
    .map((letters) => letters.join(''));
  const names = fc
    .tuple(fc.oneof(writtenLabels, texts), fc.constantFrom('com', 'co.uk', 'de', 'рф', '公司.cn'))
    .map(([text, tld]) => `${text}.${tld}`);

  test('any text is a name or a bad request, and nothing else is thrown', () => {
    fc.assert(
      fc.property(
        fc.oneof(texts, names, fc.string({ unit: 'binary', maxLength: 1_200 })),
        (text) => void tryNormalize(text),
      ),
      {
        numRuns: share === 'all' ? 3_000 : 300,
      },
    );
  });

  test('a name stays what it is: its ASCII and its Unicode form normalize to itself', () => {
    let taken = 0;
    fc.assert(
      fc.property(names, (text) => {
        const name = tryNormalize(text);
        if (name === undefined) return;
        taken += 1;
        assert.deepEqual(normalizeName(name.ascii), name);
        assert.deepEqual(normalizeName(name.unicode), name);
        assert.deepEqual(normalizeName(`${name.ascii.toUpperCase()}.`), name);
        assert.equal(name.ascii, `${name.label}.${name.tld}`);
        assert.match(name.ascii, /^(?!-)[a-z\d-]{1,63}(?<!-)(\.[a-z\d-]{1,63})+$/);
      }),
      { numRuns: share === 'all' ? 3_000 : 600 },
    );
    assert.ok(taken > (share === 'all' ? 500 : 50), `only ${taken} names were taken`);
  });

  test('a name of letters, digits and hyphens is what UTS 46 makes of it', () => {
    const strict = { checkBidi: true, checkHyphens: true, checkJoiners: true, useSTD3ASCIIRules: true };
    const label = fc.oneof(
      fc.stringMatching(/^[a-zA-Z\d-]{1,8}$/),
      fc.stringMatching(/^[a-z\d-]{60,66}$/),
      fc.constantFrom('xn--a', 'ab--c', 'a.--b', 'a--b', 'XN--BCHER-KVA'),
    );
    fc.assert(
      fc.property(label, fc.constantFrom('com', 'co.uk', 'COM', 'com.'), (text, suffix) => {
        const asked = `${text}.${suffix}`;
        const mapped = toASCII(asked.replace(/\.$/, ''), strict);
        const found = tryNormalize(asked);
        if (found !== undefined) assert.equal(found.ascii, mapped);
        else assert.ok(mapped === null || text.includes('.') || /xn--/i.test(text) || text.length > 63, asked);
      }),
      { numRuns: share === 'all' ? 2_000 : 300 },
    );
  });
}
