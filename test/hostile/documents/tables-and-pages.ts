/** CSV and HTML. */
import type { DocumentAnswer, DocumentCase } from '../cases.ts';

const MEBIBYTE = 1_048_576;
const EITHER: readonly DocumentAnswer[] = ['completed', 'invalid_file'];

function csv(name: string, text: () => string, answer: DocumentCase['answer']): DocumentCase {
  return { name: `CSV: ${name}`, filename: 'a.csv', mediaType: 'text/csv', bytes: () => Buffer.from(text()), answer };
}

function html(name: string, body: () => string, answer: DocumentCase['answer']): DocumentCase {
  const bytes = () => Buffer.from(`<!doctype html><html><body><p>Tea is picked in spring.</p>${body()}`);
  return { name: `HTML: ${name}`, filename: 'a.html', mediaType: 'text/html', bytes, answer };
}

export const tablesAndPages: readonly DocumentCase[] = [
  csv('one cell of eight megabytes', () => `a,b\n"${'tea '.repeat(2 * MEBIBYTE)}",1\n`, 'invalid_file'),
  csv('a quote that never closes', () => `a,b\n1,"${'tea\n'.repeat(2 * MEBIBYTE)}`, 'invalid_file'),
  csv('three hundred thousand columns', () => `${'a,'.repeat(300_000)}\n${'1,'.repeat(300_000)}\n`, EITHER),
  csv(
    'a name of two megabytes over a hundred thousand rows',
    () => `${'tea '.repeat(MEBIBYTE / 2)}\n${'1\n'.repeat(100_000)}`,
    'invalid_file',
  ),
  csv('nothing but commas', () => ','.repeat(3_000_000), ['completed', 'invalid_file']),
  csv('two million empty lines', () => `a,b\n1,2\n${'\n'.repeat(2_000_000)}`, 'completed'),
  csv('lines that end in returns alone', () => 'a,b\r1,2\r'.repeat(20_000), EITHER),
  csv('a million quotes', () => `a,b\n${'"'.repeat(1_000_001)}`, EITHER),
  csv('names of columns that are those of a prototype', () => '__proto__,constructor,toString\n1,2,3\n', 'completed'),
  csv('formulas', () => "a,b\n=CMD|'/C calc'!A0,@SUM(1)\n", 'completed'),
  html('fifty thousand open elements', () => '<div>'.repeat(50_000), EITHER),
  html('bold text twenty thousand deep', () => '<b>'.repeat(20_000), EITHER),
  html('an attribute of ten megabytes', () => `<p title="${'tea '.repeat(2.5 * MEBIBYTE)}">x</p>`, EITHER),
  html(
    'a hundred thousand attributes',
    () => `<p ${Array.from({ length: 100_000 }, (_, index) => `a${index}=1`).join(' ')}>x</p>`,
    EITHER,
  ),
  html('tables in tables, a thousand deep', () => '<table><tr><th>a</th><td>'.repeat(1_000), EITHER),
  html('tables in tables, ten thousand deep', () => '<table><tr><td>'.repeat(10_000), EITHER),
  html(
    'a cell over two thousand million columns and rows',
    () => '<table><tr><th colspan=2147483647 rowspan=2147483647>a</th></tr><tr><td>b</td></tr></table>',
    EITHER,
  ),
  html(
    'a name of a column of a megabyte over fifty thousand rows',
    () => `<table><tr><th>${'tea '.repeat(MEBIBYTE / 4)}</th></tr>${'<tr><td>1</td></tr>'.repeat(50_000)}</table>`,
    'invalid_file',
  ),
  html('lists in lists, fifty thousand deep', () => '<ol start=2147483647><li>a'.repeat(50_000), EITHER),
  html(
    'a list of three hundred thousand that counts in Roman numerals',
    () => `<ol type=I start=999999999>${'<li>a'.repeat(300_000)}</ol>`,
    EITHER,
  ),
  html('quotes in quotes, five thousand deep', () => '<blockquote>tea '.repeat(5_000), EITHER),
  html('half a million entities', () => '&amp;&#x41;&notanentity;'.repeat(170_000), EITHER),
  html('a comment that never closes', () => `<!--${'tea '.repeat(MEBIBYTE)}`, EITHER),
  html('a script that never closes', () => `<script>${'while(true){}'.repeat(500_000)}`, EITHER),
  html(
    'a link of five megabytes',
    () =>
      `<a href="data:text/html;base64,${'QQ'.repeat(2.5 * MEBIBYTE)}">x</a><img src="http://127.0.0.1:9/x" alt="tea">`,
    EITHER,
  ),
  html('nine hundred thousand ends of what never began', () => '</p></div></table>'.repeat(300_000), EITHER),
  html(
    'a page that refreshes, frames and includes itself',
    () =>
      '<meta http-equiv=refresh content=0><iframe src="#"></iframe><object data="a.html"></object><base href="http://127.0.0.1:9/">',
    'completed',
  ),
  html('words separated by breaks, two hundred thousand', () => 'tea<br>'.repeat(200_000), EITHER),
];
