import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import {
  assertRefused,
  docxParagraph,
  docxParts,
  docxTable,
  makeDeflatedZip,
  makePdf,
  makeZip,
  PDF_ENCRYPTION,
  pptxParts,
  readText,
  xlsxParts,
} from '../../../../test/support/document-fixtures.ts';
import { XML_ATTRIBUTES_MAX, XML_DEPTH_MAX } from './check-xml.ts';
import { createDocumentReader } from './index.ts';
import { HTML_DEPTH_MAX } from './read-html.ts';

const reader = createDocumentReader({ givesWay: false });
after(() => reader.close());

const read = readText.bind(undefined, reader);

describe('text', () => {
  const text = 'Größe: 5 µm – “naïve” 中文 😀\r\nnext line\n';

  test('in UTF-8 is read as it is, with or without a byte order mark', async () => {
    assert.equal(await read(text, { filename: 'a.txt', mediaType: 'text/plain' }), text);
    assert.equal(await read(`\ufeff${text}`), text);
  });

  test('in UTF-16 is read by its byte order mark or its declared charset', async () => {
    const little = Buffer.from(`\ufeff${text}`, 'utf16le');
    assert.equal(await read(little), text);
    assert.equal(await read(Buffer.from(little).swap16(), { filename: 'a.txt' }), text);
    assert.equal(await read(Buffer.from(text, 'utf16le'), { mediaType: 'text/plain; charset=utf-16le' }), text);
  });

  test('in another charset is read as the declared one, or as windows-1252', async () => {
    const western = Buffer.from('Gr\xf6\xdfe: 5 \x80, d\xe9j\xe0 vu', 'latin1');
    assert.equal(await read(western, { filename: 'a.txt' }), 'Größe: 5 €, déjà vu');
    const cyrillic = Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2]);
    assert.equal(await read(cyrillic, { mediaType: 'text/plain; charset="windows-1251"' }), 'Привет');
    assert.equal(await read('déjà', { mediaType: 'text/plain; charset=nonsense' }), 'déjà');
  });

  test('turns to windows-1252 also where the first such byte comes late', async () => {
    const late = Buffer.concat([Buffer.from('plain words '.repeat(50_000)), Buffer.from('caf\xe9', 'latin1')]);
    assert.match(await read(late, { filename: 'a.txt' }), /plain words café$/);
  });

  test('of UTF-8 keeps its other characters when some bytes are damaged', async () => {
    const damaged = Buffer.concat([
      Buffer.from('中文中文 '),
      Buffer.from([0xff]),
      Buffer.from(' 中文'),
      Buffer.from('中').subarray(0, 2),
    ]);
    assert.equal(await read(damaged, { filename: 'a.txt' }), '中文中文 \ufffd 中文\ufffd');
  });

  test('of Markdown, JSON and code stays as it is written', async () => {
    for (const [filename, mediaType, content] of [
      ['a.md', 'text/markdown', '# Title\n\n- [link](https://example.com)\n'],
      ['a.json', 'application/json', '{"a": [1, 2, "\\u0000"]}'],
      ['a.ts', 'video/mp2t', 'export const a: number = 1;\n'],
      ['Makefile', 'application/octet-stream', 'all:\n\tcc a.c\n'],
    ] as const) {
      assert.equal(await read(content, { filename, mediaType }), content);
    }
  });

  test('with the names of special tokens in it is text like any other', async () => {
    assert.equal(await read('before <|endoftext|> after'), 'before <|endoftext|> after');
  });

  test('of nothing, or of blanks alone, is refused', async () => {
    await assertRefused(read(''), 'invalid_file', /empty/);
    await assertRefused(read(' \n\t \n'), 'invalid_file', /no text/);
  });

  test('with NUL bytes is refused, also when they come late', async () => {
    await assertRefused(read('some\0text', { filename: 'a.txt' }), 'invalid_file', /NUL/);
    const late = Buffer.concat([Buffer.from('words '.repeat(100_000)), Buffer.from([0])]);
    await assertRefused(read(late, { filename: 'a.txt' }), 'invalid_file', /NUL/);
    await assertRefused(read(Buffer.from('\ufeffa\0b', 'utf16le')), 'invalid_file', /NUL/);
  });
});

describe('CSV', () => {
  test('is read as records that name their columns', async () => {
    const csv = 'name,city,note\nAda,"London, UK","said ""hi"""\nAlan,,\n';
    assert.equal(
      await read(csv, { filename: 'a.csv' }),
      'name, city, note\n\nname: Ada\ncity: London, UK\nnote: said "hi"\n\nname: Alan\n\n',
    );
  });

  test('may be separated by semicolons or tabs, and have rows of other lengths', async () => {
    assert.match(await read('a;b\n1;2;3\n', { mediaType: 'text/csv' }), /a: 1\nb: 2\ncolumn 3: 3\n/);
    assert.match(await read('a\tb\n1\t"2\n3"\n', { filename: 'a.tsv' }), /a: 1\nb: 2\n3\n/);
  });

  test('of many rows comes whole, in order', async () => {
    const rows = Array.from({ length: 20_000 }, (_, index) => `${index},value ${index}`);
    const text = await read(`id,text\n${rows.join('\n')}\n`, { filename: 'a.csv' });
    assert.deepEqual(
      text.match(/^id: \d+$/gm),
      rows.map((_, index) => `id: ${index}`),
    );
  });

  test('that ends within a quoted value is refused', async () => {
    await assertRefused(read('a,b\n1,"2\n3,4\n', { filename: 'a.csv' }), 'invalid_file', /quote/i);
  });
});

describe('HTML', () => {
  const page = `<!doctype html><html><head><title>The title</title><style>p { color: red }</style></head><body>
    <script>alert(1)</script><h1>Heading</h1><p>See <a href="https://example.com/x">the   page</a> &amp; more&#0;.</p>
    <img src="x.png" alt="A chart"><table><thead><tr><th>Name</th><th>City</th></tr></thead>
    <tr><td>Ada</td><td>London</td></tr><tr><td>Alan</td><td></td></tr></table>
    <table><tr><td>Layout left</td><td>Layout right</td></tr></table></body></html>`;

  test('is read as its reader sees it', async () => {
    for (const sent of [{ filename: 'a.html' }, { mediaType: 'text/html; charset=utf-8' }, {}]) {
      const text = await read(page, sent);
      for (const part of [
        'The title',
        'Heading',
        'See the page & more',
        'A chart',
        'Name: Ada\nCity: London',
        'Layout left',
      ]) {
        assert.ok(text.includes(part), `${part} in ${text}`);
      }
      assert.doesNotMatch(text, /alert|color|example\.com|<|\0/);
    }
  });

  test('is read in the charset that it declares', async () => {
    const body = Buffer.concat([
      Buffer.from('<!doctype html><html><meta charset="windows-1251"><body>'),
      Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2]),
    ]);
    assert.match(await read(body), /Привет/);
  });

  test('nested without end is refused', async () => {
    await assertRefused(read('<div>'.repeat(20_000), { filename: 'a.html' }), 'invalid_file', /512/);
  });

  test('is read to the depth that the message names, and no deeper', async () => {
    const nested = (depth: number) => `<!doctype html>${'<b>'.repeat(depth)}Deep`;
    assert.match(await read(nested(HTML_DEPTH_MAX), { filename: 'a.html' }), /Deep/);
    await assertRefused(read(nested(HTML_DEPTH_MAX + 1), { filename: 'a.html' }), 'invalid_file', /512/);
  });

  test('with a list that counts beyond Roman numerals is refused, and tried once', async () => {
    await assertRefused(
      read('<ol type=I start=999999999><li>Tea<li>Tea</ol>', { filename: 'a.html' }),
      'invalid_file',
      /damaged/,
    );
  });
});

describe('PDF', () => {
  test('is read page by page', async () => {
    const text = await read(makePdf([['First page', 'second (line)'], ['Page two']]), { filename: 'a.pdf' });
    assert.equal(text.trim(), 'First page\nsecond (line)\n\nPage two');
  });

  test('gives a page of any length whole, without the blanks around it', async () => {
    const lines = Array.from({ length: 45 }, (_, line) => `Line ${line}`);
    const text = await read(makePdf([['  ', ...lines, ' '], ['Page two']]), { filename: 'a.pdf' });
    assert.equal(text, `${lines.join('\n')}\n\nPage two\n\n`);
  });

  test('is known by its content', async () => {
    assert.match(await read(makePdf([['Hidden']]), { filename: 'a.txt', mediaType: 'text/plain' }), /Hidden/);
  });

  test('without a text layer is refused as such', async () => {
    await assertRefused(read(makePdf([[], []])), 'no_text_layer', /OCR/);
  });

  test('under a password is refused, with a message that says so', async () => {
    await assertRefused(read(makePdf([['Secret']], PDF_ENCRYPTION)), 'invalid_file', /password/);
  });

  test('is read with the padding that a transfer added', async () => {
    assert.match(await read(Buffer.concat([makePdf([['Padded']]), Buffer.alloc(5_000)])), /Padded/);
  });

  test('that is cut off or damaged is refused', async () => {
    const pdf = makePdf([['Some text']]);
    await assertRefused(read(pdf.subarray(0, pdf.length - 200)), 'invalid_file', /incomplete/);
    await assertRefused(read('%PDF-1.7\nnothing of a PDF\n%%EOF\n'), 'invalid_file', /damaged/);
    const binary = Buffer.from(pdf).fill(0, 0, 40);
    await assertRefused(read(binary, { filename: 'a.pdf' }), 'invalid_file', /damaged/);
  });
});

describe('DOCX', () => {
  const body =
    docxParagraph('First &amp; foremost 中文') +
    docxTable([
      ['Name', 'City'],
      ['Ada', 'London'],
    ]) +
    '<w:p><w:r><w:drawing><wp:inline><a:graphic><a:graphicData><pic:pic><pic:blipFill><a:blip r:embed="rId9"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>' +
    docxParagraph('Last');

  test('is read with its tables, without its pictures, whatever it is called', async () => {
    const parts = docxParts(body);
    parts['word/_rels/document.xml.rels'] =
      '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId9" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image" Target="media/image1.png"/></Relationships>';
    parts['word/media/image1.png'] = Buffer.alloc(100_000, 7);
    for (const filename of ['a.docx', 'a', 'a.txt']) {
      const text = await read(makeZip(parts), { filename });
      assert.match(text, /^First & foremost 中文\n/);
      assert.match(text, /Name \| City\nAda \| London/);
      assert.match(text, /Last$/);
    }
  });

  test('without any text is refused', async () => {
    await assertRefused(read(makeZip(docxParts('<w:p/>'))), 'invalid_file', /no text/);
  });

  test('whose XML is damaged is refused', async () => {
    const parts = docxParts(docxParagraph('x'));
    parts['word/document.xml'] = String(parts['word/document.xml']).slice(0, -40);
    await assertRefused(read(makeZip(parts), { filename: 'a.docx' }), 'invalid_file', /DOCX is damaged/);
  });
});

describe('PPTX', () => {
  test('is read slide by slide in its order, with tables and notes', async () => {
    const table = [
      ['Quarter', 'Revenue'],
      ['Q1', '10'],
    ];
    const slides = [
      { title: 'Opening', paragraphs: ['Hello &amp; welcome', 'Second point'], notes: 'Smile first' },
      { title: 'Numbers', paragraphs: [], table },
    ];
    assert.equal(
      await read(makeZip(pptxParts(slides)), { filename: 'a.pptx' }),
      'Slide 1: Opening\n\nHello & welcome\nSecond point\n\nNotes of slide 1:\nSmile first\n\n' +
        'Slide 2: Numbers\n\nQuarter | Revenue\nQuarter: Q1\nRevenue: 10\n\n\n',
    );
  });

  test('whose slide is missing is refused', async () => {
    const parts = pptxParts([{ title: 'A', paragraphs: ['b'] }]);
    delete parts['ppt/slides/slide1.xml'];
    await assertRefused(read(makeZip(parts)), 'invalid_file', /missing/);
  });
});

describe('XLSX', () => {
  const text = (cell: string, value: string): string => `<c r="${cell}" t="inlineStr"><is><t>${value}</t></is></c>`;

  test('is read sheet by sheet, as records', async () => {
    const people =
      `<row r="1">${text('A1', 'Name')}${text('B1', 'Born')}${text('C1', 'Active')}</row>` +
      `<row r="2">${text('A2', 'Ada &amp; Co')}<c r="B2" s="1"><v>45658</v></c><c r="C2" t="b"><v>1</v></c></row>` +
      `<row r="9">${text('A9', 'Alan')}</row>`;
    const numbers =
      '<row r="1"><c r="A1"><v>1.5</v></c><c r="B1"><v>2</v></c></row><row r="2"><c r="A2"><v>3</v></c></row>';
    assert.equal(
      await read(makeZip(xlsxParts({ People: people, Numbers: numbers, Empty: '' })), { filename: 'a.xlsx' }),
      'People\n\nName | Born | Active\n\nName: Ada & Co\nBorn: 2025-01-01\nActive: true\n\nName: Alan\n\n\n' +
        'Numbers\n\n1.5 | 2\n\n3\n\nEmpty\n\n',
    );
  });

  test('gives neither NUL nor halves of surrogate pairs, which its escapes can stand for', async () => {
    const row = `<row r="1">${text('A1', 'a_x0000_b_xD83D_c')}</row>`;
    assert.equal(await read(makeZip(xlsxParts({ Sheet: row }))), 'Sheet\n\nab\ufffdc\n\n\n');
  });

  test('takes cells in error and formulas without a value', async () => {
    const row = `<row r="1">${text('A1', 'x')}<c r="B1"><f>SUM(C1:C2)</f><v></v></c><c r="C1" t="e"><v>#N/A</v></c><c r="D1"><f>A1</f></c></row>`;
    assert.match(await read(makeZip(xlsxParts({ Sheet: row }))), /x/);
  });
});

describe('what has no text', () => {
  test('is refused as unsupported', async () => {
    const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
    for (const [content, sent, message] of [
      [png, { filename: 'a.png', mediaType: 'image/png' }, /image/],
      [png, { filename: 'a.txt', mediaType: 'text/plain' }, /image/],
      [Buffer.from('ID3\x04rest'), { filename: 'a.mp3' }, /audio/],
      [Buffer.from('\0\0\0\x20ftypisom'), {}, /video/],
      [Buffer.from('1f8b0800', 'hex'), { filename: 'a.tar.gz' }, /archive/],
      [makeZip({ 'a.txt': 'text' }), { filename: 'a.zip' }, /zip archive/],
      [makeZip({ mimetype: 'application/epub+zip' }), { filename: 'a.epub' }, /zip archive/],
      [Buffer.from('{\\rtf1 text}'), { filename: 'a.rtf' }, /RTF/],
      [
        Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(600)]),
        { filename: 'a.doc' },
        /before 2007/,
      ],
      [Buffer.from([1, 2, 3, 0, 4]), {}, /binary/],
    ] as const) {
      await assertRefused(read(content, sent), 'unsupported_file', message);
    }
  });

  test('an office document under a password is told apart', async () => {
    const compound = Buffer.concat([
      Buffer.from('d0cf11e0a1b11ae1', 'hex'),
      Buffer.from('EncryptedPackage', 'utf16le'),
    ]);
    await assertRefused(read(compound, { filename: 'a.docx' }), 'invalid_file', /password/);
  });
});

describe('an archive that does harm', () => {
  test('is refused by what it says that it unpacks to', async () => {
    const bomb = makeDeflatedZip('word/document.xml', Buffer.alloc(200 * 1024 * 1024));
    assert.ok(bomb.length < 1_000_000);
    await assertRefused(read(bomb, { filename: 'a.docx' }), 'invalid_file', /harm/);
  });

  test('is refused by what it unpacks to, whatever it says', async () => {
    const bomb = makeDeflatedZip('word/document.xml', Buffer.alloc(50 * 1024 * 1024), 1_000);
    await assertRefused(read(bomb, { filename: 'a.docx' }), 'invalid_file', /damaged|harm/);
  });

  test('is refused for too many parts', async () => {
    const parts = Object.fromEntries(Array.from({ length: 20_001 }, (_, index) => [`p${index}.bin`, '']));
    await assertRefused(read(makeZip(parts), { filename: 'a.docx' }), 'invalid_file', /parts/);
  });

  test('is refused when it is cut off', async () => {
    const docx = makeZip(docxParts(docxParagraph('text')));
    for (const length of [docx.length - 1, docx.length - 100, 100]) {
      await assertRefused(read(docx.subarray(0, length), { filename: 'a.docx' }), 'invalid_file', /incomplete/);
    }
  });

  test('of XML that defines entities without end is refused', async () => {
    const entities = Array.from(
      { length: 30 },
      (_, index) => `<!ENTITY e${index + 1} "&e${index};&e${index};&e${index};">`,
    );
    const parts = docxParts('<w:p><w:r><w:t>&e30;</w:t></w:r></w:p>');
    parts['word/document.xml'] = String(parts['word/document.xml']).replace(
      '?>',
      `?><!DOCTYPE x [<!ENTITY e0 "boom">${entities.join('')}]>`,
    );
    await assertRefused(read(makeZip(parts), { filename: 'a.docx' }), 'invalid_file');
  });
});

describe('XML of an office document', () => {
  const document = (body: string) => read(makeZip(docxParts(docxParagraph('Tea') + body)), { filename: 'a.docx' });

  test('is read to the depth that the message names, and no deeper', async () => {
    // The document, its body and what lies in them.
    const nested = (depth: number) => '<w:a>'.repeat(depth - 2) + '</w:a>'.repeat(depth - 2);
    assert.match(await document(nested(XML_DEPTH_MAX)), /Tea/);
    await assertRefused(document(nested(XML_DEPTH_MAX + 1)), 'invalid_file', /1000 deep/);
  });

  test('has as many attributes in an element as the message names, and no more', async () => {
    const element = (count: number) => `<w:a ${Array.from({ length: count }, (_, at) => `a${at}="="`).join(' ')}/>`;
    assert.match(await document(element(XML_ATTRIBUTES_MAX)), /Tea/);
    await assertRefused(document(element(XML_ATTRIBUTES_MAX + 1)), 'invalid_file', /1000 attributes/);
  });

  test('does not count what a comment or a section of characters holds', async () => {
    assert.match(
      await document(
        `<!--${'<a>'.repeat(2_000)}--><w:p><w:r><w:t><![CDATA[${'<a>'.repeat(2_000)}]]></w:t></w:r></w:p>`,
      ),
      /Tea/,
    );
  });
});
