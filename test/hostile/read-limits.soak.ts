/** The limits that reading a file has where the operator sets none. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { DocumentError } from '../../src/platform/knowledge/read/document.ts';
import { createDocumentReader } from '../../src/platform/knowledge/read/index.ts';
import { readText } from '../support/document-fixtures.ts';
import { pdfWithCmap } from './documents/build-pdf.ts';

const reader = createDocumentReader();
after(() => reader.close());

test('a file of two kilobytes has ten seconds of processor time', async () => {
  // A range of a million characters, set again and again: it takes time, and no more memory the longer it goes on, so that on
  // a fast machine too it is the time that ends it. All of it would take minutes.
  const file = pdfWithCmap('1 beginbfrange <00000000> <000fffff> <0041> endbfrange '.repeat(4_000));
  assert.ok(file.length < 2_048, `${file.length} bytes`);
  await assert.rejects(readText(reader, file, { filename: 'a.pdf' }), (error) => {
    assert.ok(error instanceof DocumentError && error.code === 'invalid_file');
    assert.match(
      error.message,
      /processor time (?:than|that) one document may have \(10 seconds, and 20 for each MiB, 900 at most\)/,
    );
    return true;
  });
});
