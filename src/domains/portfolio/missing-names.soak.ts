/** A registry that says of names of ours that it has them not, or not with us: over EPP, wrongly and rightly. */
import { testMissingNames } from '../../../test/support/check-missing-names.ts';

await testMissingNames('all');
