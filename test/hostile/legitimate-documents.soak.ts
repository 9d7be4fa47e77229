/** Documents of the largest size that people have. */
import { testLegitimateDocuments } from './legitimate-documents.ts';

testLegitimateDocuments({ pageCount: 1_000, paragraphs: 10_000, tableRows: 1_000, sheetRows: 10_000, slideCount: 300 });
