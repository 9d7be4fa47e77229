/** What every part of a server has to load before its memory and its speed can be judged. */
import assert from 'node:assert/strict';
import { docxParts, makePdf, makeZip } from '../support/document-fixtures.ts';
import { type DocumentCase, SCHEMA_PLACES } from './cases.ts';
import { SENTENCE } from './documents/office.ts';
import { indexDocument, sendSchema, type Tenant } from './tenants.ts';

const FORM = { name: 'a form', schema: () => ({ type: 'object' }), answer: 'accepted' } as const;
const WORDS: DocumentCase = {
  name: 'a text',
  filename: 'a.txt',
  bytes: () => Buffer.from('Tea is picked in spring.'),
  answer: 'completed',
};
const DOCUMENTS: readonly DocumentCase[] = [
  WORDS,
  { name: 'a PDF', filename: 'a.pdf', bytes: () => makePdf([['Tea is picked in spring.']]), answer: 'completed' },
  { name: 'a document', filename: 'a.docx', bytes: () => makeZip(docxParts(SENTENCE)), answer: 'completed' },
  { name: 'a longer text', filename: 'b.txt', bytes: () => Buffer.alloc(50_000, 'tea '), answer: 'completed' },
];

const MEBIBYTE = 1_048_576;
const LONG: DocumentCase = {
  name: 'a long text',
  filename: 'c.txt',
  bytes: () => Buffer.alloc(3 * MEBIBYTE, 'Tea is picked in spring, dried, rolled and packed. '),
  answer: 'completed',
};

/** Innocent turns and documents of each of them. */
export async function warmUp(tenants: readonly Tenant[]): Promise<void> {
  await Promise.all(
    tenants.map(async (tenant) => {
      for (const place of SCHEMA_PLACES) {
        const { answer } = await sendSchema(tenant, FORM, place);
        assert.ok(answer.status < 300, answer.text);
      }
      for (const document of DOCUMENTS) await index(tenant, document);
    }),
  );
  const [first] = tenants;
  if (first !== undefined) await index(first, { ...WORDS, embedding: 'builtin/embed' });
}

/** A long text and a large schema of each of them, as honest ones are: what the process and its database take for them they keep. */
export async function warmUpWithLarge(tenants: readonly Tenant[]): Promise<void> {
  await Promise.all(
    tenants.map(async (tenant) => {
      await index(tenant, LONG);
      const description = 'x'.repeat(MEBIBYTE / 2);
      const { answer } = await sendSchema(tenant, { ...FORM, schema: () => ({ description }) }, 'response_format');
      assert.ok(answer.status < 300, answer.text);
    }),
  );
}

async function index(tenant: Tenant, document: DocumentCase): Promise<void> {
  const { answer, message } = await indexDocument(tenant, document);
  assert.equal(answer, 'completed', `${document.name}: ${message}`);
}
