import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DOMAIN, EPP, FEE } from '../namespaces.ts';
import { element, type XmlElement } from './element.ts';
import { MAX_ALL_ATTRIBUTES, MAX_ATTRIBUTES, MAX_DEPTH, MAX_ELEMENTS, parseXml, XmlError } from './parse-xml.ts';
import { writeXml } from './write-xml.ts';

const parse = (text: string) => parseXml(Buffer.from(text));

const names = fc.constantFrom('name', 'ns', 'infData', 'a-b');
const uris = fc.constantFrom(EPP, DOMAIN, FEE);
const text = fc
  .string({ unit: 'grapheme', minLength: 1 })
  .filter((value) => !/[\p{C}\r]/u.test(value) && /\S/.test(value));
const attributes = fc.dictionary(fc.constantFrom('s', 'avail', 'op'), text, { noNullPrototype: true });

const { tree } = fc.letrec<{ tree: XmlElement }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.tuple(uris, names, text, attributes).map(([uri, local, content, of]) => element(uri, local, content, of)),
    fc
      .tuple(uris, names, fc.array(tie('tree'), { maxLength: 4 }), attributes)
      .map(([uri, local, children, of]) => element(uri, local, children, of)),
  ),
}));

test('what is written is read back the same, markup and all', () => {
  fc.assert(fc.property(tree, (root) => assert.deepEqual(parse(writeXml(root)), root)));
  for (const content of [` <b a="1">&amp;]]>'" `, 'a&b', '&nbsp;', '&#0;', '&#x41;', '&amp;amp;', 'R&D; &']) {
    const markup = element(EPP, 'msg', content, { s: content });
    assert.deepEqual(parse(writeXml(markup)), markup, content);
  }
});

test('prefixes are the usual ones and declared where they are used', () => {
  const root = element(EPP, 'epp', [element(DOMAIN, 'check', [element(DOMAIN, 'name', 'a.com')])]);
  assert.equal(
    writeXml(root),
    `<?xml version="1.0" encoding="UTF-8" standalone="no"?><epp xmlns="${EPP}"><domain:check xmlns:domain="${DOMAIN}">` +
      '<domain:name>a.com</domain:name></domain:check></epp>',
  );
});

test('any prefix of a peer will do, and hints for validators are left out', () => {
  const root = parse(
    `<e:epp xmlns:e="${EPP}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="x y" a="1"><e:hello/></e:epp>`,
  );
  assert.deepEqual(root, element(EPP, 'epp', [element(EPP, 'hello')], { a: '1' }));
});

test('documents that are hostile or broken are refused', () => {
  const attributesOf = (count: number, prefix = 'a') =>
    Array.from({ length: count }, (_, index) => ` ${prefix}${index}="u"`).join('');
  const full = `<b${attributesOf(MAX_ATTRIBUTES)}/>`;
  const laughs = '<!DOCTYPE epp [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><epp>&b;</epp>';
  const documents: Record<string, string | Buffer> = {
    'entity bomb': laughs,
    'external entity': '<!DOCTYPE epp [<!ENTITY x SYSTEM "file:///etc/passwd">]><epp>&x;</epp>',
    'document type': '<!DOCTYPE epp><epp/>',
    'unknown entity': '<epp>&nbsp;</epp>',
    'processing instruction': '<epp><?php evil ?></epp>',
    'another encoding': '<?xml version="1.0" encoding="ISO-8859-1"?><epp/>',
    'invalid UTF-8': Buffer.from([0x3c, 0x61, 0x3e, 0xff, 0xfe, 0x3c, 0x2f, 0x61, 0x3e]),
    'control character': '<epp>\u0001</epp>',
    'not closed': '<epp><command>',
    'two roots': '<epp/><epp/>',
    'undeclared prefix': '<domain:check/>',
    'attribute twice': '<epp a="1" a="2"/>',
    nothing: '',
    text: 'hello',
    'too deep': '<a>'.repeat(MAX_DEPTH + 1) + '</a>'.repeat(MAX_DEPTH + 1),
    'too many elements': `<a>${'<b/>'.repeat(MAX_ELEMENTS)}</a>`,
    'too many attributes of an element': `<a${attributesOf(MAX_ATTRIBUTES + 1)}/>`,
    'too many namespaces of an element': `<a${attributesOf(MAX_ATTRIBUTES + 1, 'xmlns:a')}/>`,
    'too many attributes': `<a>${full.repeat(MAX_ALL_ATTRIBUTES / MAX_ATTRIBUTES)}<b c=""/></a>`,
  };
  for (const [what, document] of Object.entries(documents)) {
    assert.throws(() => parseXml(Buffer.from(document)), XmlError, what);
  }
  assert.equal(parse('<a>'.repeat(MAX_DEPTH) + '</a>'.repeat(MAX_DEPTH)).local, 'a');
  assert.equal(parse(`<a>${full.repeat(MAX_ALL_ATTRIBUTES / MAX_ATTRIBUTES)}</a>`).children.length, 200);
});

test('attributes without end are refused at the first that is too many', () => {
  const tag = (write: (index: number) => string) =>
    Buffer.from(`<a ${Array.from({ length: 60_000 }, (_, index) => write(index)).join(' ')}/>`);
  for (const frame of [tag((index) => `a${index}=""`), tag((index) => `xmlns:a${index}="u"`)]) {
    const before = process.threadCpuUsage();
    assert.throws(() => parseXml(frame), /more than 100 attributes of an element/);
    const { system, user } = process.threadCpuUsage(before);
    assert.ok(user + system < 50_000, `${user + system} microseconds of the processor`);
  }
});

test('characters that XML cannot carry are refused before they are sent', () => {
  for (const content of ['\u0000', 'a\rb', '\uFFFE', '\uD800']) {
    assert.throws(() => writeXml(element(EPP, 'msg', content)), XmlError);
    assert.throws(() => writeXml(element(EPP, 'msg', '', { s: content })), XmlError);
  }
  // In an attribute these would arrive as blanks.
  for (const content of ['a\nb', 'a\tb']) {
    assert.equal(parse(writeXml(element(EPP, 'msg', content))).text, content);
    assert.throws(() => writeXml(element(EPP, 'msg', '', { s: content })), XmlError);
  }
});
