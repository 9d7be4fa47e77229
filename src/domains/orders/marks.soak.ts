/** Names for holders of trademarks who have a code of a validator, or the mark itself, and no signed mark: over HTTP and EPP. */
import { testMarks } from '../../../test/support/check-marks.ts';

await testMarks('all');
