/** Lines far beyond what a model writes. */
import { testLongLines } from '../../../../test/support/speech-lines.ts';

testLongLines(200_000);
