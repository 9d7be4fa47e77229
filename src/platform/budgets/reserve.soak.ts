/** More races, of more turns. IRONCRAFT_FAULT_RACES=200 is the full size. */
import { testBudgetRaces } from '../../../test/faults/budget-races.ts';

testBudgetRaces(Number(process.env.IRONCRAFT_FAULT_RACES ?? 60), 50, [0.06, 0.5]);
