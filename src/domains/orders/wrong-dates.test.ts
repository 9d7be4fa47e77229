/**
 * A registry that shows another end of the term than what an order has led to, for a while: before it has moved it, or by mistake. What was paid
 * for stays so afterwards.
 */
import { testWrongDates } from '../../../test/support/check-wrong-dates.ts';

await testWrongDates('some');
