/** The limits that reading a file has where the operator sets none. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { DocumentError } from '../../src/platform/knowledge/read/document.ts';
import { createDocumentReader } from '../../src/platform/knowledge/read/index.ts';
import { readText } from '../support/document-fixtures.ts';
import { pdfFonts } from './documents/pdf-fonts.ts';

const reader = createDocumentReader();
after(() => reader.close());

test('a file of two kilobytes has ten seconds of processor time', async () => {
  const file = pdfFonts.find(({ name }) => name === 'PDF: sixteen million characters, a hundred times');
  assert.ok(file !== undefined);
  await assert.rejects(readText(reader, file.bytes(), { filename: file.filename }), (error) => {
    assert.ok(error instanceof DocumentError && error.code === 'invalid_file');
    assert.match(
      error.message,
      /processor time (?:than|that) one document may have \(10 seconds, and 20 for each MiB, 900 at most\)/,
    );
    return true;
  });
});
