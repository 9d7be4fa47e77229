/** What every part of a server has to load before its memory and its speed can be judged. */
import assert from 'node:assert/strict';
import { docxParts, makePdf, makeZip } from '../support/document-fixtures.ts';
import { type DocumentCase, SCHEMA_PLACES } from './cases.ts';
import { SENTENCE } from './documents/office.ts';
import { indexDocument, sendSchema, type Tenant } from './tenants.ts';

const DOCUMENTS: readonly DocumentCase[] = [
  { name: 'a text', filename: 'a.txt', bytes: () => Buffer.from('Tea is picked in spring.'), answer: 'completed' },
  { name: 'a PDF', filename: 'a.pdf', bytes: () => makePdf([['Tea is picked in spring.']]), answer: 'completed' },
  { name: 'a document', filename: 'a.docx', bytes: () => makeZip(docxParts(SENTENCE)), answer: 'completed' },
  { name: 'a longer text', filename: 'b.txt', bytes: () => Buffer.alloc(50_000, 'tea '), answer: 'completed' },
];

/** Innocent turns and documents of each of them. */
export async function warmUp(tenants: readonly Tenant[]): Promise<void> {
  const turn = { name: 'a form', schema: () => ({ type: 'object' }), answer: 'accepted' } as const;
  await Promise.all(
    tenants.map(async (tenant) => {
      for (const place of SCHEMA_PLACES) {
        const { answer } = await sendSchema(tenant, turn, place);
        assert.ok(answer.status < 300, answer.text);
      }
      for (const document of DOCUMENTS) {
        const { answer, message } = await indexDocument(tenant, document);
        assert.equal(answer, 'completed', `${document.name}: ${message}`);
      }
    }),
  );
}
