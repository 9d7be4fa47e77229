/** Each way out of a box, tried by one of the users in turn; escapes.soak.ts tries each as all of them. */
import { checkEscapes } from '../../../test/support/check-escapes.ts';

checkEscapes('some');
