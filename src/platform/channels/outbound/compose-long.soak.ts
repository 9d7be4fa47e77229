/** Answers as long as one can be. */
import { testLongAnswers } from '../../../../test/support/long-answers.ts';

testLongAnswers(262_144);
