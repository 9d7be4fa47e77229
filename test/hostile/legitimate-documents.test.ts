/** Documents of some pages. The soak has those of a thousand. */
import { testLegitimateDocuments } from './legitimate-documents.ts';

testLegitimateDocuments({ pageCount: 40, paragraphs: 1_000, tableRows: 100, sheetRows: 1_000, slideCount: 30 });
