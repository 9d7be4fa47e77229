/** Files that a reader of documents may not survive, family by family. */
import type { DocumentCase } from './cases.ts';
import { archives } from './documents/archives.ts';
import { otherFiles } from './documents/other-files.ts';
import { pdfFonts } from './documents/pdf-fonts.ts';
import { pdfStructure } from './documents/pdf-structure.ts';
import { spreadsheets } from './documents/spreadsheets.ts';
import { tablesAndPages } from './documents/tables-and-pages.ts';
import { texts } from './documents/texts.ts';
import { wordsAndSlides } from './documents/words-and-slides.ts';
import { xml } from './documents/xml.ts';

export const documents: readonly DocumentCase[] = [
  ...archives,
  ...xml,
  ...pdfStructure,
  ...pdfFonts,
  ...spreadsheets,
  ...wordsAndSlides,
  ...tablesAndPages,
  ...texts,
  ...otherFiles,
];
