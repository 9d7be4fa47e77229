/** Each way out of a box, as the user of the tests and as another. */
import { checkEscapes } from '../../../test/support/check-escapes.ts';

checkEscapes('all');
