/** Texts of the worst shape are read with the right result. */
import { testStallingTexts } from './stalling-texts.ts';

testStallingTexts((work) => work());
