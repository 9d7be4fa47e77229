/** A registry that answers a change with a success that is another command's, and does nothing, over EPP. */
import { testForeignSuccesses } from '../../../test/support/check-foreign-successes.ts';

await testForeignSuccesses('all');
