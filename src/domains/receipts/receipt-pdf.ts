/** A receipt as a page. The same receipt is the same bytes each time. */
import type { ReceiptRow } from './store.ts';

const MARGIN = 56;
const AMOUNT_LEFT = 400;
const AMOUNT_WIDTH = 139;

export async function renderReceiptPdf(receipt: ReceiptRow): Promise<Buffer> {
  // Loaded for the first receipt: most processes render none.
  const { default: PdfDocument } = await import('pdfkit');
  const title = `${receipt.total_cents < 0 ? 'Credit note' : 'Receipt'} ${receipt.number}`;
  const info = { Title: title, CreationDate: receipt.issued_at, ModDate: receipt.issued_at };
  const page = new PdfDocument({ size: 'A4', margin: MARGIN, info });
  const write = (text: string) => page.text(writable(text));
  page.font('Helvetica').fontSize(10);
  for (const line of receipt.seller) write(line);
  page.moveDown(2);
  for (const line of receipt.buyer) write(line);
  page.moveDown(2).fontSize(16);
  write(title);
  page.fontSize(10).moveDown();
  write(`Date: ${receipt.issued_at.toISOString().slice(0, 10)}`);
  write(`Payment: ${receipt.payment_id}`);
  if (receipt.refunds_number !== null) write(`Refund of receipt ${receipt.refunds_number}`);
  page.moveDown();
  const amounts: readonly [what: string, cents: number][] = [
    [receipt.description, receipt.total_cents],
    ['Net', receipt.net_cents],
    [`VAT ${percentOf(receipt.vat_basis_points)} %`, receipt.vat_cents],
    ['Total', receipt.total_cents],
  ];
  for (const [what, cents] of amounts) {
    const top = page.y;
    page.text(writable(what), MARGIN, top, { width: AMOUNT_LEFT - MARGIN });
    const bottom = page.y;
    page.text(`${(cents / 100).toFixed(2)} EUR`, AMOUNT_LEFT, top, { width: AMOUNT_WIDTH, align: 'right' });
    page.y = Math.max(bottom, page.y);
  }
  page.end();
  const chunks: Uint8Array[] = [];
  for await (const chunk of page) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks);
}

export function percentOf(basisPoints: number): number {
  return basisPoints / 100;
}

const FURTHER = new Set('€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ');
const BASE_LETTERS: Readonly<Record<string, string>> = { ł: 'l', Ł: 'L', đ: 'd', Đ: 'D', ı: 'i', İ: 'I', ħ: 'h' };

/** The page's own font knows Windows-1252: other letters lose their marks, and what has none is a question mark. */
function writable(text: string): string {
  return Array.from(text.normalize('NFC'), (letter) => {
    if (isKnown(letter)) return letter;
    const base = BASE_LETTERS[letter] ?? letter.normalize('NFD').replace(/\p{M}/gu, '');
    return base !== '' && Array.from(base).every(isKnown) ? base : '?';
  }).join('');
}

function isKnown(letter: string): boolean {
  return /^[\u0020-\u007e\u00a0-\u00ff]$/.test(letter) || FURTHER.has(letter);
}
